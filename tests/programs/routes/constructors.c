/* A library whose constructor calls CUDA. Needed by the program it is seen; opened by dlopen, its constructor has run before
 * anybody could look (listed as late), and what it does afterwards is seen. */
//: lib libctor.so -DLIBRARY -l:libcuda.so.1
//: exe ctor_needed -DNEEDED -l:libctor.so
//: exe ctor_opened
#include "fixture.h"

int later(void);
#ifdef LIBRARY
__attribute__((constructor)) static void begin(void) { CHECK(cuInit(0) == 0); }
int later(void) { int v = 0; CHECK(cuDriverGetVersion(&v) == 0); return v; }
#else
int main(void) {
#ifdef NEEDED
    int (*f)(void) = later;
#else
    void *h = dlopen("libctor.so", RTLD_NOW);
    CHECK(h);
    int (*f)(void) = (int (*)(void))dlsym(h, "later");
#endif
    CHECK(f() == 12090);
    CHECK(fixture_count("cuInit") == 1 && fixture_count("cuDriverGetVersion") == 1);
    puts("ok");
}
#endif
