/* "How do I run something before and after each cudaMalloc?" The answer that is always given: a library in LD_PRELOAD that takes the
 * real one by RTLD_NEXT. It works for the shared runtime only; cutap must show the call once, and the hook must do its work. */
#ifdef HOOK
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef int (*cudaMalloc_t)(void **, size_t);
int cudaMalloc(void **p, size_t bytes) {
    static cudaMalloc_t real;
    if (!real) real = (cudaMalloc_t)dlsym(RTLD_NEXT, "cudaMalloc");
    printf("before cudaMalloc of %zu bytes\n", bytes);
    int result = real(p, bytes);
    printf("after cudaMalloc: %d, %s\n", result, result ? "nothing" : "memory");
    return result;
}
#else
#include <cuda_runtime.h>
#include <stdio.h>

int main(void) {
    void *a, *b;
    int wrong = cudaMalloc(&a, 1 << 20) || cudaMalloc(&b, 256);
    wrong |= cudaMalloc(&b, (size_t)1 << 60) != cudaErrorMemoryAllocation || cudaGetLastError() != cudaErrorMemoryAllocation;
    wrong |= cudaFree(a) != cudaSuccess;
    puts(wrong ? "wrong" : "done");
    return wrong;
}
#endif
