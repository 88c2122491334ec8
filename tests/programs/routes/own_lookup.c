/* libcuda looks itself up: it gets its own functions and not ours, whatever was handed out to others before. */
//: exe own_lookup -l:libcuda.so.1
#include "fixture.h"

int main(void) {
    int real = 0;
    CHECK(cuFixtureOwnLookup(&real) == 0 && real);
    CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit");
    CHECK(init(0) == 0);
    CHECK(cuFixtureOwnLookup(&real) == 0 && real);
    puts("ok");
}
