/* The address of one library's function, used again by a function of another library that was loaded into the same place. */
//: exe address_again
#include "fixture.h"

static void *use(const char *library, const char *function, int expected) {
    void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(h);
    int (*f)(int *) = (int (*)(int *))dlsym(h, function), v = 0;
    CHECK(f && f(&v) == 0 && v == expected);
    Dl_info where;
    CHECK(dladdr((void *)f, &where) && !strcmp(where.dli_sname, function));
    CHECK(dlclose(h) == 0);
    return where.dli_saddr;
}
int main(void) {
    for (int i = 0; i < 3; i++) {
        void *old = use("libcufft.so.10", "cufftFixtureOld", 10), *new = use("libcufft.so.12", "cufftFixtureNew", 12);
        if (old != new) fprintf(stderr, "not what this shows: the address was not used again\n");
    }
    puts("ok");
}
