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
    puts("done");
    return 0;
}
