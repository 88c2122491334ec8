/* A library opened into a running program, used and closed, again and again, by two threads, while two others look symbols up
 * and call them. Each call must be counted, and nothing may hang. */
//: lib libopened_a.so -DLIBRARY -Wl,-z,lazy -l:libcuda.so.1
//: lib libopened_b.so -DLIBRARY -Wl,-z,now -l:libcuda.so.1 -l:libcublas.so.13
//: exe open_while_lookup -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

int work(void);
#ifdef LIBRARY
int work(void) { return cuMemFree_v2(1) + cuMemFree_v2(2); }
#else
enum { OPENS = 2000, LOOKUPS = 100000 };

static void *opens(void *name) {
    for (int i = 0; i < OPENS; i++) {
        void *h = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        CHECK(h);
        int (*f)(void) = (int (*)(void))dlsym(h, "work");
        CHECK(f && f() == 0 && dlclose(h) == 0);
    }
    return 0;
}
static void *looks_up(void *name) {
    for (int i = 0; i < LOOKUPS; i++) {
        int v;
        CUresult (*f)(int *) = (CUresult (*)(int *))dlsym(RTLD_DEFAULT, name);
        CHECK(f && f(&v) == 0 && v == 12090);
    }
    return 0;
}
int main(void) {
    pthread_t t[4];
    void *(*f[])(void *) = {opens, opens, looks_up, looks_up};
    void *name[] = {"libopened_a.so", "libopened_b.so", "cuDriverGetVersion", "cuDriverGetVersion"};
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&t[i], 0, f[i], name[i]) == 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    CHECK(fixture_count("cuMemFree_v2") == 2 * 2 * OPENS && fixture_count("cuDriverGetVersion") == 2 * LOOKUPS);
    puts("ok");
}
#endif
