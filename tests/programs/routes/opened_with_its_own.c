/* A library opened together with what it calls, while others look symbols up: whoever looks at what is loaded may find it listed and what it
 * needs not yet. Each call must be counted. */
//: lib libwith_its_own.so -DLIBRARY -Wl,-z,now -Wl,--no-as-needed -l:libcurand.so.10 -l:libcufft.so.11 -l:libcublas.so.13
//: exe opened_with_its_own -l:libfixture.so
#include "fixture.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

int work(void);
#ifdef LIBRARY
int work(void) { int v = 0, n = 0; while (n++ < 5) CHECK(cublasGetVersion_v2(0, &v) == 0 && v == 13); return 0; }
#else
enum { OPENS = 400 };
static atomic_int opening, looked;

/* Some microseconds into each opening, from 0 to 400. */
static void *looks_up(void *unused) {
    for (int i = 1; i <= OPENS; i++) {
        struct timespec from, now;
        while (opening < i) {}
        clock_gettime(CLOCK_MONOTONIC, &from);
        do clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < i % 50 * 8000);
        CHECK(dlsym(RTLD_DEFAULT, "puts"));
        looked = i;
    }
    return unused;
}
int main(void) {
    pthread_t t;
    CHECK(pthread_create(&t, 0, looks_up, 0) == 0);
    for (int i = 1; i <= OPENS; i++) {
        opening = i;
        void *h = dlopen("libwith_its_own.so", RTLD_NOW | RTLD_LOCAL);
        while (looked < i) {}
        int (*f)(void) = (int (*)(void))dlsym(h, "work");
        CHECK(f && f() == 0 && dlclose(h) == 0);
    }
    pthread_join(t, 0);
    CHECK(fixture_count("cublasGetVersion_v2") == 5 * OPENS);
    puts("ok");
}
#endif
