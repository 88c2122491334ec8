/* NVIDIA's static runtime on cutap's driver: a sum of vectors, with a kernel of a cubin.
 *
 *     static_runtime CUBIN [computed]
 *
 * With `computed` the sums are checked too: on a GPU, not on the model of the kernel driver. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 16 };

static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        printf("%s: %s (%d)\n", what, cudaGetErrorString(error), error);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

int main(int argc, char **argv) {
    static float x[N], y[N], sum[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1.0f;
    struct cudaDeviceProp device;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaStream_t stream;
    cudaEvent_t start, end;
    float ms = -1, *a, *b, *c;
    int n = N;
    if (argc < 2) return 2;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("%s\n", strstr(device.name, "H100") ? "H100" : device.name);
    CHECK(cudaLibraryLoadFromFile(&library, argv[1], NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "vecadd"));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMalloc((void **)&a, sizeof x));
    CHECK(cudaMalloc((void **)&b, sizeof x));
    CHECK(cudaMalloc((void **)&c, sizeof x));
    CHECK(cudaMemcpyAsync(a, x, sizeof x, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(b, y, sizeof y, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(c, y, sizeof y, cudaMemcpyHostToDevice, stream));
    void *arguments[] = {&a, &b, &c, &n};
    CHECK(cudaEventRecord(start, stream));
    CHECK(cudaLaunchKernel(kernel, (dim3){N / 256, 1, 1}, (dim3){256, 1, 1}, arguments, 0, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaMemcpyAsync(sum, c, sizeof sum, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventElapsedTime(&ms, start, end));
    int right = 0, copied = 0;
    for (int i = 0; i < N; i++) right += sum[i] == x[i] + y[i], copied += sum[i] == y[i];
    if (argc > 2) printf("sums right: %d\n", right == N);
    else printf("copied: %d\n", copied == N);
    printf("time passes: %d\n", ms >= 0);
    CHECK(cudaFree(a));
    CHECK(cudaDeviceReset());
    return 0;
}
