// The smallest whole runtime program: allocate, copy, launch, copy back, verify.
// Built twice by run.sh, with the static and with the shared CUDA runtime.
// Its output never holds an address or a time, so that two runs can be compared.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    std::fprintf(stderr, "saxpy: %s: %s\n", what, cudaGetErrorString(code));
    std::exit(1);
}

// What the trace must show of a call: a line in the file that CUTAP_FACTS names (facts.py reads it).
static std::FILE *facts;
#define FACT(...) ((void)(facts && std::fprintf(facts, __VA_ARGS__)))

int main()
{
    if (std::getenv("CUTAP_FACTS"))
        facts = std::fopen(std::getenv("CUTAP_FACTS"), "w");
    const int n = 1 << 16;
    const size_t bytes = n * sizeof(float);
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; i++) {
        x[i] = static_cast<float>(i);
        y[i] = static_cast<float>(i % 7);
    }
    float *dx = nullptr, *dy = nullptr;
    check(cudaMalloc(&dx, bytes), "cudaMalloc");
    check(cudaMalloc(&dy, bytes), "cudaMalloc");
    check(cudaMemcpy(dx, x.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(dy, y.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    FACT("cudaMalloc devPtr=%p size=%zu\n", (void *)dx, bytes);
    FACT("cudaMemcpy dst=%p src=%p count=%zu kind=cudaMemcpyHostToDevice\n", (void *)dy, (void *)y.data(), bytes);
    FACT("cudaLaunchKernel gridDim.x=%d gridDim.y=1 blockDim.x=256 sharedMem=0 kernel=saxpy args=%d,2,%p,%p\n",
         (n + 255) / 256, n, (void *)dx, (void *)dy);
    for (int round = 0; round < 3; round++) {
        saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, dx, dy);
        check(cudaGetLastError(), "launch");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(y.data(), dy, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    FACT("cudaMemcpy dst=%p src=%p count=%zu kind=cudaMemcpyDeviceToHost\n", (void *)y.data(), (void *)dy, bytes);
    check(cudaFree(dx), "cudaFree");
    FACT("cudaFree devPtr=%p\n", (void *)dx);
    check(cudaFree(dy), "cudaFree");
    for (int i = 0; i < n; i++) {
        // Below 2^24, so exact in float.
        const float want = 6.0f * static_cast<float>(i) + static_cast<float>(i % 7);
        if (y[i] != want) {
            std::printf("saxpy: y[%d] = %g, expected %g\n", i, y[i], want);
            return 1;
        }
    }
    std::printf("saxpy: %d elements, 3 launches, verified\n", n);
    return 0;
}
