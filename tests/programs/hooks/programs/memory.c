/* What hooks on a runtime are tried with: each answer and change, and what the last error is after it. */
#include "../../runtimes/cudart.h"

cudaError_t cudaPeekAtLastError(void);

static void errors(void) {
    int peek = cudaPeekAtLastError(), last = cudaGetLastError(), none = cudaGetLastError();
    printf("  last error %d, %d, then %d\n", peek, last, none);
}
int main(void) {
    void *p = (void *)1, *untouched = (void *)7;
    int n = -1, code = cudaGetDeviceCount(&n);
    printf("devices %d %d\n", code, n);
    code = cudaMalloc(&p, 100);
    printf("100 bytes: %d\n", code);
    errors();
    code = cudaMalloc(&untouched, 13);
    printf("13 bytes: %d %p\n", code, untouched);
    errors();
    code = cudaMalloc(&p, 15);
    printf("15 bytes: %d\n", code);
    code = cudaMalloc(&p, 16);
    printf("16 bytes: %d\n", code);
    code = cudaSetDevice(99);
    printf("device 99: %d\n", code);
    errors();
    code = cudaDeviceSynchronize();
    printf("synchronize: %d\n", code);
    errors();
    code = cudaMalloc(&untouched, 13);
    code = cudaFree((void *)12345);
    printf("a real error: %d\n", code);
    errors();
    return 0;
}
