/* RTLD_NEXT through two wrapper libraries, more than once: each gets the one behind it, the last one libcuda's. */
//: lib libwrap2.so -DLIBRARY -DNUMBER=2
//: lib libwrap1.so -DLIBRARY -DNUMBER=1
//: exe next_chain -l:libwrap1.so -l:libwrap2.so -l:libcuda.so.1
#include "fixture.h"

extern char order[64];
#ifdef LIBRARY
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes) {
    strcat(order, NUMBER == 1 ? "wrap1 " : "wrap2 ");
    CHECK(!dlsym(RTLD_NEXT, "cuNobodyKnows"));
    CUresult (*next)(CUdeviceptr *, size_t) = (CUresult (*)(CUdeviceptr *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    CHECK(next && (void *)next != (void *)cuMemAlloc_v2 && (void *)next == dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
    return next(p, bytes);
}
#else
char order[64];
int main(void) {
    CUdeviceptr p;
    for (int i = 0; i < 2; i++) CHECK(cuMemAlloc_v2(&p, 64) == 0 && p == 0x10000);
    puts(order);
    CHECK(!strcmp(order, "wrap1 wrap2 wrap1 wrap2 "));
    puts("ok");
}
#endif
