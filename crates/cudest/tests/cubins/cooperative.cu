// A kernel that synchronizes its grid, as `grid.sync()` of cooperative groups does it: environment registers 1 and 2 lead
// to two words of the driver, a size and a barrier. The headers themselves make a cubin of 180 kB
// (-DCOOPERATIVE_HEADERS).
#ifdef COOPERATIVE_HEADERS
#include <cooperative_groups.h>
__device__ void sync_grid() { cooperative_groups::this_grid().sync(); }
#else
__device__ unsigned *barrier()
{
    unsigned low, high;
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    return (unsigned *)((unsigned long long)high << 32 | low) + 1;
}
__device__ void sync_grid()
{
    __syncthreads();
    if (!threadIdx.x) {
        unsigned add = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1), old;
        __threadfence();
        old = atomicAdd(barrier(), add);
        while (!((old ^ *(volatile unsigned *)barrier()) & 0x80000000u)) {}
        __threadfence();
    }
    __syncthreads();
}

#endif

// Each round each block adds its neighbour's word of the round before.
extern "C" __global__ void neighbours(unsigned *a, unsigned *b, int rounds)
{
    for (int k = 0; k < rounds; k++) {
        unsigned *from = k & 1 ? b : a, *to = k & 1 ? a : b;
        if (!threadIdx.x) to[blockIdx.x] = __ldcg(from + blockIdx.x) + __ldcg(from + (blockIdx.x + 1) % gridDim.x);
        sync_grid();
    }
}
