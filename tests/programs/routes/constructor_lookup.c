/* Constructors that call dlsym, with the loader's lock held, while other threads open, close and look up. Any lock of ours that is
 * held across a loader call hangs here. Watched libraries are opened lazily and closed on the way. */
//: lib libctor_lookup_a.so -DLIBRARY -l:libcuda.so.1
//: lib libctor_lookup_b.so -DLIBRARY -l:libcuda.so.1
//: exe constructor_lookup -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

#ifdef LIBRARY
__attribute__((constructor)) static void begin(void) {
    CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit");
    CHECK(init && init(0) == 0);
    CHECK(!dlsym(RTLD_NEXT, "cuNobodyKnows"));
}
#else
enum { OPENS = 2000, LOOKUPS = 100000 };

static void *opens(void *name) {
    for (int i = 0; i < OPENS; i++) {
        void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        CHECK(h && dlclose(h) == 0);
    }
    return 0;
}
static void *opens_watched(void *unused) {
    for (int i = 0; i < OPENS; i++) {
        void *h = dlopen(i & 1 ? "libcufft.so.12" : "libcufft.so.10", RTLD_LAZY | RTLD_LOCAL);
        int v, (*f)(int *) = (int (*)(int *))dlsym(h, i & 1 ? "cufftFixtureNew" : "cufftFixtureOld");
        CHECK(f && f(&v) == 0 && v == (i & 1 ? 12 : 10) && dlclose(h) == 0);
    }
    return unused;
}
static void *looks_up(void *unused) {
    for (int i = 0; i < LOOKUPS; i++) {
        int v;
        CUresult (*f)(int *) = (CUresult (*)(int *))dlsym(RTLD_DEFAULT, "cuDriverGetVersion");
        CHECK(f && f(&v) == 0 && v == 12090);
    }
    return unused;
}
int main(void) {
    pthread_t t[5];
    void *(*f[])(void *) = {opens, opens, opens_watched, looks_up, looks_up};
    for (int i = 0; i < 5; i++) CHECK(pthread_create(&t[i], 0, f[i], i ? "libctor_lookup_a.so" : "libctor_lookup_b.so") == 0);
    for (int i = 0; i < 5; i++) pthread_join(t[i], 0);
    CHECK(fixture_count("cuInit") == 2 * OPENS && fixture_count("cuDriverGetVersion") == 2 * LOOKUPS);
    puts("ok");
}
#endif
