// A static object takes memory before main, and works and frees it after main. What its destructor does is work of the
// GPU, too.
#include <cstdio>

#include <cuda_runtime.h>

__global__ void add(int *value, int number)
{
    *value += number;
}

struct Held
{
    int *value = nullptr;

    Held()
    {
        std::printf("before main: %s", cudaGetErrorName(cudaMalloc(&value, sizeof *value)));
        std::printf(" %s\n", cudaGetErrorName(cudaMemset(value, 0, sizeof *value)));
    }

    ~Held()
    {
        int host = -1;
        add<<<1, 1>>>(value, 5);
        std::printf("after main: %s", cudaGetErrorName(cudaGetLastError()));
        std::printf(" %s", cudaGetErrorName(cudaMemcpy(&host, value, sizeof host, cudaMemcpyDeviceToHost)));
        std::printf(" %s, value %d\n", cudaGetErrorName(cudaFree(value)), host);
    }
};

static Held held;

int main()
{
    add<<<1, 1>>>(held.value, 7);
    std::printf("main: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
