/* Errors that are pending when a hook hides a later one, or gives one. */
#include "../../runtimes/cudart.h"

cudaError_t cudaPeekAtLastError(void);

static void last(const char *what) {
    int peek = cudaPeekAtLastError(), last = cudaGetLastError(), none = cudaGetLastError();
    printf(" %s: last %d, %d, then %d\n", what, peek, last, none);
}
int main(void) {
    void *p;
    setvbuf(stdout, 0, _IONBF, 0);
    cudaGetDeviceCount((int *)&p);
    cudaSetDevice(77);
    cudaMalloc(&p, 1ull << 50);
    last("hidden");
    cudaSetDevice(77);
    cudaPeekAtLastError();
    cudaMalloc(&p, 1ull << 50);
    last("seen and hidden");
    cudaSetDevice(77);
    cudaMalloc(&p, 13);
    last("given");
    cudaMalloc(&p, 13);
    cudaSetDevice(77);
    last("real");
    cudaMalloc(&p, 13);
    cudaMalloc(&p, 1ull << 50);
    last("given and hidden");
    cudaSetDevice(77);
    cudaDeviceReset();
    last("reset");
    return 0;
}
