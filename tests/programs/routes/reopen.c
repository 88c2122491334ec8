/* libcuda opened, used, closed and really gone, five times over; each time also through a library that is linked with it. */
//: lib libreopen.so -DLIBRARY -Wl,-z,lazy -l:libcuda.so.1
//: exe reopen
#include "fixture.h"

int run(void);
#ifdef LIBRARY
int run(void) { int v = 0; CHECK(cuDriverGetVersion(&v) == 0); return v; }
#else
int main(void) {
    for (int i = 0; i < 5; i++) {
        void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(cuda, "cuInit");
        CHECK(init && init(0) == 0);
        CHECK(dlclose(cuda) == 0);
        CHECK(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
        void *user = dlopen("libreopen.so", RTLD_LAZY | RTLD_LOCAL);
        CHECK(user && ((int (*)(void))dlsym(user, "run"))() == 12090);
        CHECK(dlclose(user) == 0);
        CHECK(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
    }
    puts("ok");
}
#endif
