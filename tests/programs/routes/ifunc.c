/* An exported IFUNC: bound lazily, bound at start and found by dlsym. Its resolver is never called as if it were the function. */
//: exe ifunc_lazy -Wl,-z,lazy -l:libcurand.so.10
//: exe ifunc_now -Wl,-z,now -fno-plt -l:libcurand.so.10
#include "fixture.h"

int main(void) {
    CHECK(curandFixtureIfunc(1) == 8 && curandFixtureIfunc(2) == 9);
    int (*f)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "curandFixtureIfunc");
    void *h = dlopen("libcurand.so.10", RTLD_NOW);
    int (*g)(int) = (int (*)(int))dlsym(h, "curandFixtureIfunc");
    CHECK(f && f(3) == 10 && g && g(4) == 11 && f == g);
    CHECK(fixture_count("curandFixtureIfunc") == 4);
    puts("ok");
}
