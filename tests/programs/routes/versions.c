/* Two versions of one library in one process: each caller gets the one that the loader would give it. A name searched in
 * advance gave 12 twice in an earlier version of cutap's proof. */
//: lib libuse12.so -DLIBRARY -Wl,-z,lazy -l:libcublas.so.12
//: lib libuse13.so -DLIBRARY -Wl,-z,lazy -l:libcublas.so.13
//: exe two_local
//: exe two_global -DLINKED -l:libcublas.so.12
#include "fixture.h"

int use(void);
typedef int version_of(void *, int *);
#ifdef LIBRARY
int use(void) { int v = 0; CHECK(cublasGetVersion_v2(0, &v) == 0); return v; }
#elif defined LINKED
int main(void) {
    int v = 0;
    CHECK(cublasGetVersion_v2(0, &v) == 0 && v == 12);
    void *h = dlopen("libcublas.so.13", RTLD_LAZY | RTLD_LOCAL);
    CHECK(h);
    version_of *from_13 = (version_of *)dlsym(h, "cublasGetVersion_v2"), *first = (version_of *)dlsym(RTLD_DEFAULT, "cublasGetVersion_v2");
    CHECK(from_13(0, &v) == 0 && v == 13);
    CHECK(first(0, &v) == 0 && v == 12);
    CHECK((void *)first == (void *)cublasGetVersion_v2);
    puts("ok");
}
#else
int main(void) {
    void *a = dlopen("libuse12.so", RTLD_LAZY | RTLD_LOCAL), *b = dlopen("libuse13.so", RTLD_LAZY | RTLD_LOCAL);
    CHECK(a && b);
    int (*use12)(void) = (int (*)(void))dlsym(a, "use"), (*use13)(void) = (int (*)(void))dlsym(b, "use");
    int first = use12(), second = use13(), third = use12();
    printf("%d %d %d\n", first, second, third);
    CHECK(first == 12 && second == 13 && third == 12);
    puts("ok");
}
#endif
