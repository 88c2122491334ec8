/* Other people's LD_PRELOAD libraries, before and after ours: one that wraps dlsym itself, one that wraps something of libc's,
 * one that wraps a CUDA function by its exported name, one that wraps dlopen and leaves the call of the real one to a library
 * that it is linked with. The harness sets the order. */
//: lib libwrap_dlsym.so -DWRAP_DLSYM
//: lib libwrap_libc.so -DWRAP_LIBC
//: lib libwrap_cuda.so -DWRAP_CUDA
//: lib libwrap_helper.so -DWRAP_HELPER
//: lib libwrap_dlopen.so -DWRAP_DLOPEN -l:libwrap_helper.so
//: exe preloads -l:libcuda.so.1
#include "fixture.h"

int wraps_dlsym(void) __attribute__((weak));
int wraps_libc(void) __attribute__((weak));
int wraps_cuda(void) __attribute__((weak));
int wraps_dlopen(void) __attribute__((weak));
void *open_really(const char *name, int flags);
#if defined WRAP_DLSYM
static int calls;
int wraps_dlsym(void) { return calls; }
void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real) real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    calls++;
    return real(handle, name);
}
#elif defined WRAP_HELPER
void *open_really(const char *name, int flags) {
    void *libc = dlmopen(LM_ID_BASE, "libc.so.6", RTLD_NOW);
    return ((void *(*)(const char *, int))dlsym(libc, "dlopen"))(name, flags);
}
#elif defined WRAP_DLOPEN
static int calls;
int wraps_dlopen(void) { return calls; }
void *dlopen(const char *name, int flags) { return calls++, open_really(name, flags); }
#elif defined WRAP_LIBC
static int calls;
int wraps_libc(void) { return calls; }
int getppid(void) { calls++; return ((int (*)(void))dlsym(RTLD_NEXT, "getppid"))(); }
#elif defined WRAP_CUDA
static int calls;
int wraps_cuda(void) { return calls; }
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes) {
    calls++;
    return ((CUresult(*)(CUdeviceptr *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(p, bytes + 1);
}
#else
int main(void) {
    CUdeviceptr p;
    CHECK(cuInit(0) == 0 && getppid() > 0);
    CHECK(cuMemAlloc_v2(&p, 0) == (wraps_cuda ? 0 : 1));
    void *h = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*release)(CUdeviceptr) = (CUresult (*)(CUdeviceptr))dlsym(h, "cuMemFree_v2");
    CHECK(release && release(p) == 0);
    CHECK(!wraps_dlopen || wraps_dlopen() > 0);
    printf("dlsym %s, libc %s, cuda %s\n", !wraps_dlsym ? "plain" : wraps_dlsym() ? "wrapped" : "LOST",
        !wraps_libc ? "plain" : wraps_libc() == 1 ? "wrapped" : "LOST", !wraps_cuda ? "plain" : wraps_cuda() == 1 ? "wrapped" : "LOST");
    puts("ok");
}
#endif
