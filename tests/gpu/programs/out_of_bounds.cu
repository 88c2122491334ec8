// Writes one int behind an allocation: compute-sanitizer reports it, with and without cutap.
#include <cstdio>

#include <cuda_runtime.h>

__global__ void write(int *to, int at)
{
    to[at] = 1;
}

int main()
{
    int *memory = nullptr;
    if (cudaMalloc(&memory, 256 * sizeof(int)) != cudaSuccess)
        return 1;
    write<<<1, 1>>>(memory, 256);
    cudaDeviceSynchronize();
    std::puts("out_of_bounds: done");
    return 0;
}
