/* A driver function newer than anything cutap knows, with a stack argument: seen by link, by dlsym and by cuGetProcAddress. */
//: exe future -l:libcuda.so.1
#include "fixture.h"

int main(void) {
    CHECK(cuFutureThing_v9(1, 2, 3, 4, 5, 6, 7) == 0 && cuFutureThing_v9(7, 6, 5, 4, 3, 2, 1) == 1);
    __typeof(&cuFutureThing_v9) f = (__typeof(f))dlsym(RTLD_DEFAULT, "cuFutureThing_v9");
    CHECK(f && f(1, 2, 3, 4, 5, 6, 7) == 0);
    CHECK(cuGetProcAddress_v2("cuFutureThing", (void **)&f, 13050, 0, 0) == 0 && f(1, 2, 3, 4, 5, 6, 7) == 0);
    CHECK(fixture_count("cuFutureThing_v9") == 4);
    puts("ok");
}
