/* A launch on two devices at once: the parameters of each are told by its own kernel's table. Kernels differ, one has no parameters, and
 * one has more than a record has room for. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry scale(.param .u64 .ptr .global data, .param .f32 by, .param .u32 count)\n{\n ret;\n}\n"
    ".visible .entry none()\n{\n ret;\n}\n"
    ".visible .entry large(.param .u32 first, .param .align 8 .b8 block[2000], .param .u32 last)\n{\n ret;\n}\n";

static struct { char bytes[2000]; } block;

int main(void) {
    CUfunction scale[2], none[2], large[2];
    CUstream stream[2];
    CUdeviceptr memory[2];
    float by[2] = {0.5f, 1.5f};
    unsigned count = 64, first = 7, last = 9;
    setenv("CUTAP_SIM_DEVICES", "2", 1);
    CHECK(cuInit(0));
    for (int n = 0; n < 2; n++) {
        CUcontext context;
        CUmodule module;
        CHECK(cuDevicePrimaryCtxRetain(&context, n) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, ptx));
        CHECK(cuModuleGetFunction(&scale[n], module, "scale") || cuModuleGetFunction(&none[n], module, "none"));
        CHECK(cuModuleGetFunction(&large[n], module, "large"));
        CHECK(cuStreamCreate(&stream[n], CU_STREAM_NON_BLOCKING) || cuMemAlloc(&memory[n], 4096));
    }
    void *of_first[] = {&memory[0], &by[0], &count}, *of_second[] = {&memory[1], &by[1], &count}, *of_large[] = {&first, &block, &last};
    CUDA_LAUNCH_PARAMS list[2] = {
        {scale[0], 2, 1, 1, 64, 1, 1, 0, stream[0], of_first}, {scale[1], 2, 1, 1, 64, 1, 1, 0, stream[1], of_second}};
    CHECK(cuLaunchCooperativeKernelMultiDevice(list, 2, CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC));
    list[0].function = none[0];
    list[0].kernelParams = 0;
    CHECK(cuLaunchCooperativeKernelMultiDevice(list, 2, 0));
    list[0].function = large[0];
    list[0].kernelParams = of_large;
    CHECK(cuLaunchCooperativeKernelMultiDevice(list, 2, 0));
    list[0].hStream = 0;
    cuLaunchCooperativeKernelMultiDevice(list, 2, 0);
    puts("done");
    return 0;
}
