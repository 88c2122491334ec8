/* Options of the compiler of PTX: each value as what it is, and logs as the call leaves them, above all where it fails. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry one()\n{\n ret;\n}\n";

static char info[512] = "left from before", error[512] = "left from before";
static CUjit_option names[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE, CU_JIT_TARGET, CU_JIT_MAX_REGISTERS};
static void *values[7];

static void **fresh(void) {
    void *all[7] = {info, (void *)sizeof info, error, (void *)sizeof error, (void *)1, (void *)CU_TARGET_COMPUTE_90, (void *)32};
    for (int n = 0; n < 7; n++) values[n] = all[n];
    return values;
}

int main(void) {
    CUcontext context;
    CUmodule module;
    CUlibrary library;
    CUlinkState state;
    void *image;
    size_t bytes;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context));
    CHECK(cuModuleLoadDataEx(&module, ptx, 7, names, fresh()));
    cuModuleLoadDataEx(&module, "no code at all", 7, names, fresh());
    cuLibraryLoadData(&library, "no code at all", names, fresh(), 7, 0, 0, 0);
    CHECK(cuLinkCreate(7, names, fresh(), &state));
    CHECK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)ptx, sizeof ptx, "one.ptx", 2, names + 5, values + 5));
    CHECK(cuLinkComplete(state, &image, &bytes) || cuLinkDestroy(state));
    /* What a call adds to the logs of its linker is behind what was there before; each linker has its own. */
    CUlinkState other;
    static char others[64];
    CUjit_option few[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *places[] = {others, (void *)sizeof others};
    CHECK(cuLinkCreate(7, names, fresh(), &state) || cuLinkCreate(2, few, places, &other));
    cuLinkAddData(state, CU_JIT_INPUT_PTX, "no code", 8, "first", 0, 0, 0);
    cuLinkAddData(other, CU_JIT_INPUT_CUBIN, "nor here", 9, "its own", 0, 0, 0);
    cuLinkAddData(state, CU_JIT_INPUT_PTX, ".version 99.0\n", 15, "second", 0, 0, 0);
    CHECK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)ptx, sizeof ptx, "good", 0, 0, 0));
    CHECK(cuLinkDestroy(state) || cuLinkDestroy(other));
    /* Without logs there is nothing to tell. */
    CHECK(cuLinkCreate(0, 0, 0, &state));
    cuLinkAddData(state, CU_JIT_INPUT_PTX, "no code", 8, "third", 0, 0, 0);
    CHECK(cuLinkDestroy(state));
    puts("done");
    return 0;
}
