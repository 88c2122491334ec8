/* Handles and memory that are no more, or never were: each such call fails, and the trace must say why. A kernel that is given in
 * place of a function keeps its name. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing()\n{\n ret;\n}\n";

int main(void) {
    CUcontext context;
    CUstream first, second;
    CUevent event;
    CUdeviceptr memory;
    CUlibrary library;
    CUkernel kernel;
    int failed = cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
    failed |= cuStreamCreate(&first, CU_STREAM_NON_BLOCKING) || cuStreamSynchronize(first) || cuStreamDestroy(first);
    failed |= cuStreamSynchronize(first) == CUDA_SUCCESS;
    failed |= cuStreamDestroy(first) == CUDA_SUCCESS;
    failed |= cuStreamSynchronize((CUstream)(uintptr_t)0x123456789000) == CUDA_SUCCESS;
    failed |= cuStreamCreate(&second, 0) || cuEventCreate(&event, 0);
    failed |= cuEventRecord((CUevent)second, 0) == CUDA_SUCCESS;
    failed |= cuMemAlloc(&memory, 4096) || cuMemsetD8(memory, 1, 4096) || cuMemFree(memory);
    failed |= cuMemFree(memory) == CUDA_SUCCESS;
    failed |= cuMemsetD8(memory + 256, 1, 16) == CUDA_SUCCESS;
    failed |= cuMemFree(0x10) == CUDA_SUCCESS;
    failed |= cuLibraryLoadData(&library, ptx, 0, 0, 0, 0, 0, 0) || cuLibraryGetKernel(&kernel, library, "nothing");
    failed |= cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, second, 0, 0);
    puts(failed ? "wrong" : "done");
    return failed;
}
