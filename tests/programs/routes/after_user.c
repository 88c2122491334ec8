/* A watched library that arrives after the library that calls it, which was built without naming it. */
//: lib libearly.so -DLIBRARY -Wl,-z,lazy
//: exe after_user
#include "fixture.h"

#ifdef LIBRARY
int use(void);
int use(void) { int v = 0; CHECK(cublasGetVersion_v2(0, &v) == 0); return v; }
#else
int main(void) {
    void *user = dlopen("libearly.so", RTLD_LAZY | RTLD_GLOBAL);
    int (*use)(void) = (int (*)(void))dlsym(user, "use");
    CHECK(use);
    CHECK(dlopen("libcublas.so.13", RTLD_LAZY | RTLD_GLOBAL));
    CHECK(use() == 13 && use() == 13);
    puts("ok");
}
#endif
