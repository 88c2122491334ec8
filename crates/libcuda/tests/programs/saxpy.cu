// What a compiler makes: kernels by name and by template, variables, attributes. Kernels do not run on the simulated
// driver, so only what the host sees is checked.
#include <cstdio>
#include <cstring>
#include <vector>

__device__ int counter = 42;
__constant__ float table[16];
__device__ char name[100];

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i] + table[0];
    if (i == 0) counter++, name[0]++;
}
template <class T> __global__ void __launch_bounds__(128) fill(T *p, T value) { p[threadIdx.x] = value; }

#define OK(call) do { cudaError_t e = (call); if (e) { printf("line %d: %s\n", __LINE__, cudaGetErrorName(e)); return 1; } } while (0)
#define TRUE(what) do { if (!(what)) { printf("line %d: not so: %s\n", __LINE__, #what); return 1; } } while (0)

int main() {
    std::vector<float> in(1000, 1.f), out(1000);
    float *x, *y, values[16] = { 5, 6 }, back[16];
    OK(cudaMalloc(&x, 4000));
    OK(cudaMalloc(&y, 4000));
    OK(cudaMemcpy(x, in.data(), 4000, cudaMemcpyHostToDevice));
    saxpy<<<4, 256>>>(1000, 2.f, x, y);
    OK(cudaGetLastError());
    fill<double><<<1, 128>>>((double *)x, 1.0);
    OK(cudaGetLastError());
    fill<double><<<1, 129>>>((double *)x, 1.0);
    TRUE(cudaGetLastError() != cudaSuccess);
    OK(cudaDeviceSynchronize());
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, fill<double>));
    TRUE(attributes.maxThreadsPerBlock == 128 && attributes.numRegs > 0);
    int count = 0;
    OK(cudaMemcpyFromSymbol(&count, counter, 4));
    TRUE(count == 42);
    OK(cudaMemcpyToSymbol(table, values, sizeof values));
    OK(cudaMemcpyFromSymbol(back, table, sizeof back));
    TRUE(!memcmp(values, back, sizeof back));
    size_t size;
    OK(cudaGetSymbolSize(&size, name));
    TRUE(size == 100);
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    TRUE(!strcmp(properties.name, "NVIDIA H200") && properties.major == 9 && properties.multiProcessorCount == 132);
    TRUE(properties.sharedMemPerBlockOptin == 232448);
    OK(cudaMemcpy(out.data(), x, 4000, cudaMemcpyDeviceToHost));
    TRUE(out == in); // not executed
    printf("all is well\n");
    return 0;
}
