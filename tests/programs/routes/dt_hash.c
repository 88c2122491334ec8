/* A watched library with the old symbol hash table alone: by link and by each kind of look-up. */
//: exe dt_hash -l:libcufft.so.11
#include "fixture.h"

int cufftGetVersion(int *version);
int main(void) {
    int v = 0;
    CHECK(cufftGetVersion(&v) == 0 && v == 11);
    void *h = dlopen("libcufft.so.11", RTLD_NOW);
    int (*f)(int *) = (int (*)(int *))dlsym(h, "cufftGetVersion"), (*g)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "cufftGetVersion");
    CHECK(f && f == g && f(&v) == 0 && g(&v) == 0);
    CHECK(fixture_count("cufftGetVersion") == 3);
    puts("ok");
}
