/* Counts and lengths that no program can mean: refused, not followed to where nothing is mapped. */
#include "check.h"

#define ALL 0xffffffffu
#define MOST SIZE(1) << 40

static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u32 n)\n{ ret; }\n";
typedef struct { unsigned grid[3], block[3], shared; P stream; U attributes; unsigned count; } Config;

static void launches(void) {
    P module, f, stream;
    unsigned n = 1;
    void *parameters[] = { &n };
    OK(cuModuleLoadData, &module, text);
    OK(cuModuleGetFunction, &f, module, "f");
    OK(cuStreamCreate, &stream, 0);
    U attribute[9] = { 0 };
    Config config = { { 1, 1, 1 }, { 1, 1, 1 }, 0, stream, (U)attribute, ALL };
    IS(1, cuLaunchKernelEx, &config, f, parameters, NUL);
    config.count = 1;
    OK(cuLaunchKernelEx, &config, f, parameters, NUL);
    U operation[6] = { 0 };
    IS(1, cuStreamBatchMemOp_v2, stream, ALL, operation, 0);
}

static void lists(void) {
    P graph, node, pool, nodes[2] = { 0 };
    U memory, pair[2] = { 0 }, words[6] = { 0 };
    unsigned ids[2] = { 2, 2 };
    size_t count = MOST;
    OK(cuGraphCreate, &graph, 0);
    IS(1, cuGraphAddEmptyNode, &node, graph, nodes, MOST);
    OK(cuGraphAddEmptyNode, &node, graph, NUL, SIZE(0));
    IS(1, cuGraphGetNodes, graph, nodes, &count);
    OK(cuMemAlloc_v2, &memory, SIZE(4096));
    IS(1, cuPointerGetAttributes, ALL, ids, pair, memory);
    OK(cuDeviceGetDefaultMemPool, &pool, 0);
    IS(1, cuMemPoolSetAccess, pool, ids, MOST);
    IS(1, cuMemSetAccess, memory, SIZE(4096), ids, MOST);
    IS(1, cuDevResourceGenerateDesc, &node, words, ALL);
}

static void images(void) {
    P module, link;
    /* heads that say that they are longer than memory is */
    U elf[8] = { 0x00010102464c457f, 0, 0, 0, 0, MOST, 0, 0 };
    ((unsigned short *)elf)[29] = 64, ((unsigned short *)elf)[30] = 1;
    IS(200, cuModuleLoadData, &module, elf);
    /* options that do not end, for compiler and library */
    unsigned names[2] = { 0, 0 };
    U values[2] = { 0 };
    IS(1, cuModuleLoadDataEx, &module, text, 1000000000, names, values);
    OK(cuModuleLoadDataEx, &module, text, 2, names, values);
    IS(1, cuLibraryLoadData, &module, text, names, values, 1000000000, NUL, NUL, 0);
    IS(1, cuLibraryLoadData, &module, text, NUL, NUL, 0, names, values, 1000000000);
    IS(1, cuLibraryLoadData, &module, text, NUL, NUL, 1, NUL, NUL, 0);
    OK(cuLibraryLoadData, &module, text, names, values, 1, NUL, NUL, 0);
    IS(1, cuModuleLoadDataEx, &module, text, 1, (P)8, (P)16);
    names[1] = 9999;
    IS(1, cuModuleLoadDataEx, &module, text, 2, names, values);
    names[1] = 0;
    IS(1, cuLinkCreate_v2, 1000000000, names, values, &link);
    U fatbin[8] = { 0xba55ed50u | (U)1 << 32 | (U)16 << 48, MOST };
    IS(200, cuModuleLoadData, &module, fatbin);
    OK(cuLinkCreate_v2, 0, NUL, NUL, &link);
    IS(1, cuLinkAddData_v2, link, 1, text, MOST, "text", 0, NUL, NUL);
    OK(cuLinkDestroy, link);
}

int main(void) {
    P context;
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    launches();
    lists();
    images();
    puts("all is well");
    return 0;
}
