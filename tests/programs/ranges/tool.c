/* A tool for NVTX: it counts levels from 100 on and prints what it sees. */
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>

static int level = 100;

static int push(const char *message) {
    printf("tool: push %s\n", message);
    return level++;
}

static int pop(void) {
    printf("tool: pop\n");
    return --level;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    printf("tool: here\n");
    return 1;
}
