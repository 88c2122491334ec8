/* Addresses that may be of either side: the call does not say whether it copies from the host or to it. Memory that the processor has and
 * no call allocated is the host's; what a call allocated is that, wherever it lies; of what was never written nobody can say. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

enum { BYTES = 1 << 20 };

static char *pages(int protection) {
    return mmap(0, BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void) {
    CUcontext context;
    CUdeviceptr device, managed;
    void *pinned;
    char stack[64] = "on the stack", *large = malloc(BYTES), *written = pages(PROT_READ | PROT_WRITE);
    char *fresh = pages(PROT_READ | PROT_WRITE), *closed = pages(PROT_NONE);
    written[0] = 1;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuMemAlloc(&device, BYTES));
    CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL) || cuMemAllocHost(&pinned, BYTES));
    CHECK(cuMemcpy(device, (CUdeviceptr)stack, 16));
    CHECK(cuMemcpy(device, (CUdeviceptr)large, 32));
    CHECK(cuMemcpy((CUdeviceptr)written, device, 64));
    /* Of a copy that goes on behind its return nobody asks: that would cost too much of its time. */
    CHECK(cuMemcpyAsync((CUdeviceptr)large + 4, device + 256, 128, 0));
    CHECK(cuMemcpyAsync((CUdeviceptr)pinned, managed, 256, 0));
    CHECK(cuMemcpy((CUdeviceptr)fresh, device, 512));
    /* Nothing is copied, so nothing faults. */
    cuMemcpy(device, (CUdeviceptr)closed, 0);
    cuMemcpy((CUdeviceptr)0x10, (CUdeviceptr)UINT64_C(0xffff800000000000), 0);
    CHECK(munmap(written, BYTES));
    cuMemcpy(device, (CUdeviceptr)written, 0);
    puts("done");
    return 0;
}
