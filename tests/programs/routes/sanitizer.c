/* Sanitizers. ThreadSanitizer has a dl_iterate_phdr of its own, which looks itself up by dlsym at the first call. AddressSanitizer calls dlsym before any constructor, replaces malloc and memcpy, and, as a shared library, insists on being
 * first in LD_PRELOAD. */
//: exe asan -fsanitize=address -l:libcuda.so.1
//: exe tsan -fsanitize=thread -l:libcuda.so.1
//: exe asan_static -fsanitize=address -static-libasan -l:libcuda.so.1
#include "fixture.h"

int main(void) {
    CUdeviceptr p;
    char *a = malloc(100), *b = malloc(100);
    CHECK(a && b && cuInit(0) == 0);
    memset(a, 1, 100), memcpy(b, a, 100);
    CUresult (*alloc)(CUdeviceptr *, size_t) = (CUresult (*)(CUdeviceptr *, size_t))dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    CHECK(alloc && alloc(&p, 64) == 0 && b[99] == 1);
    free(a), free(b);
    puts("ok");
}
