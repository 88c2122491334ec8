// 1000 launches with random grids, blocks, dynamic shared memory and parameters, then one of each other call that submits
// work. Prints what the program asked, one line each; tests/gpu/submit.py compares it with what the rings got.
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Big { uint64_t words[9]; };
extern "C" __global__ void small(uint64_t *out, uint32_t a, uint64_t b) { if (a == 0xffffffff) out[0] = b; }
extern "C" __global__ void large(uint64_t *out, Big big, uint8_t c) {
    extern __shared__ uint64_t shared[];
    if (c == 255) { shared[threadIdx.x] = big.words[c % 9]; __syncthreads(); out[0] = shared[0]; }
}
extern "C" __global__ void none() {}

#define OK(call) do { CUresult r = (call); if (r) { fprintf(stderr, "%s: %d\n", #call, r); exit(1); } } while (0)
#define RT(call) do { cudaError_t r = (call); if (r) { fprintf(stderr, "%s: %d\n", #call, r); exit(1); } } while (0)
static uint64_t seed = 88172645463325252ull;
static uint64_t next(void) { seed ^= seed << 13; seed ^= seed >> 7; return seed ^= seed << 17; }
static void hex(const void *at, size_t bytes) { for (size_t n = 0; n < bytes; n++) printf("%02x", ((const uint8_t *)at)[n]); }

int main(int count, char **words) {
    int launches = count > 1 ? atoi(words[1]) : 1000;
    RT(cudaFree(0));
    uint64_t *out;
    RT(cudaMalloc(&out, 4096));
    CUfunction kernels[3];
    cudaFunction_t f;
    RT(cudaGetFuncBySymbol(&f, (const void *)small)); kernels[0] = f;
    RT(cudaGetFuncBySymbol(&f, (const void *)large)); kernels[1] = f;
    RT(cudaGetFuncBySymbol(&f, (const void *)none)); kernels[2] = f;
    OK(cuFuncSetAttribute(kernels[1], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 160 << 10));
    cudaStream_t streams[3] = {0};
    RT(cudaStreamCreate(&streams[1]));
    RT(cudaStreamCreateWithFlags(&streams[2], cudaStreamNonBlocking));
    for (int n = 0; n < launches; n++) {
        int which = next() % 3;
        unsigned grid[3] = {1 + (unsigned)(next() % 70), 1 + (unsigned)(next() % 5), 1 + (unsigned)(next() % 3)};
        unsigned block[3] = {1 + (unsigned)(next() % 64), 1 + (unsigned)(next() % 4), 1 + (unsigned)(next() % 3)};
        unsigned shared = which == 1 ? next() % (160 << 10) : which == 2 ? next() % (40 << 10) : 0;
        uint32_t a = next() & 0x7fffffff; uint64_t b = next(); uint8_t c = next() % 200;
        Big big; for (int i = 0; i < 9; i++) big.words[i] = next();
        void *first[] = {&out, &a, &b}, *second[] = {&out, &big, &c};
        void **params = which == 0 ? first : which == 1 ? second : 0;
        uint8_t bytes[81] = {0}; size_t used = 0;
        memcpy(bytes, &out, 8);
        if (which == 0) { memcpy(bytes + 8, &a, 4); memcpy(bytes + 16, &b, 8); used = 24; }
        if (which == 1) { memcpy(bytes + 8, &big, 72); bytes[80] = c; used = 81; }
        int registers, fixed;
        OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernels[which]));
        OK(cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernels[which]));
        OK(cuLaunchKernel(kernels[which], grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, streams[n % 3], params, 0));
        printf("launch %d %u %u %u %u %u %u %u %d %d ", which, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, registers, fixed);
        hex(bytes, used);
        printf("\n");
    }
    RT(cudaDeviceSynchronize());
    small<<<7, 32>>>(out, 1, 2);
    RT(cudaDeviceSynchronize());
    char *host = (char *)malloc(1 << 20), *pinned; uint64_t *device;
    memset(host, 7, 1 << 20);
    RT(cudaMallocHost(&pinned, 1 << 20));
    RT(cudaMalloc(&device, 1 << 20));
    RT(cudaMemcpy(device, host, 100, cudaMemcpyHostToDevice));
    RT(cudaMemcpy(device, host, 300000, cudaMemcpyHostToDevice));
    RT(cudaMemcpyAsync(device, pinned, 200000, cudaMemcpyHostToDevice, streams[1]));
    RT(cudaMemcpyAsync(pinned, device, 200000, cudaMemcpyDeviceToHost, streams[1]));
    RT(cudaMemcpy(host, device, 100, cudaMemcpyDeviceToHost));
    RT(cudaMemcpyAsync(device, device + 4096, 4096, cudaMemcpyDeviceToDevice, streams[1]));
    RT(cudaMemsetAsync(device, 5, 12345, streams[1]));
    cudaEvent_t event, timed;
    RT(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    RT(cudaEventCreate(&timed));
    RT(cudaEventRecord(event, streams[1]));
    RT(cudaEventRecord(timed, streams[1]));
    RT(cudaStreamWaitEvent(streams[2], event, 0));
    RT(cudaStreamSynchronize(streams[1]));
    OK(cuStreamWriteValue32((CUstream)streams[1], (CUdeviceptr)device, 9, 0));
    cudaGraph_t graph; cudaGraphExec_t exec;
    RT(cudaStreamBeginCapture(streams[1], cudaStreamCaptureModeGlobal));
    for (int n = 1; n < 4; n++) small<<<n, 64, 0, streams[1]>>>(out, n, 3);
    RT(cudaMemcpyAsync(device, device + 4096, 512, cudaMemcpyDeviceToDevice, streams[1]));
    RT(cudaStreamEndCapture(streams[1], &graph));
    RT(cudaGraphInstantiate(&exec, graph, 0));
    RT(cudaGraphLaunch(exec, streams[1]));
    RT(cudaGraphLaunch(exec, streams[1]));
    void *pooled;
    RT(cudaMallocAsync(&pooled, 1 << 16, streams[1]));
    RT(cudaFreeAsync(pooled, streams[1]));
    RT(cudaDeviceSynchronize());
    printf("done\n");
    return 0;
}
