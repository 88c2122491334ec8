/* Six libraries are closed and come back, to where they were or not, and others are opened in namespaces of their own: glibc's number of what
 * was unloaded (dlpi_subs) is of no use then, and may be the same as before, though nothing in them is bound to us any more. */
//: lib libcomes_back_1.so -DLIBRARY -Wl,-z,now -l:libcuda.so.1
//: lib libcomes_back_2.so -DLIBRARY -Wl,-z,now -l:libcuda.so.1
//: lib libcomes_back_3.so -DLIBRARY -Wl,-z,now -l:libcuda.so.1
//: lib libcomes_back_4.so -DLIBRARY -Wl,-z,now -l:libcuda.so.1
//: lib libcomes_back_5.so -DLIBRARY -Wl,-z,now -l:libcuda.so.1
//: lib libcomes_back_6.so -DLIBRARY -Wl,-z,now -l:libcuda.so.1
//: exe another_namespace -l:libcuda.so.1 -l:libfixture.so
#include "fixture.h"

int work(void);
#ifdef LIBRARY
int work(void) { int v = 0; CHECK(cuDriverGetVersion(&v) == 0); return v; }
#else
int main(void) {
    void *h[6];
    CHECK(cuInit(0) == 0);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 6; i++) {
            char name[32];
            sprintf(name, "libcomes_back_%d.so", i + 1);
            CHECK((h[i] = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != 0);
        }
        /* Behind them, for it must not take their place. */
        if (round % 2) CHECK(dlmopen(LM_ID_NEWLM, "libfixture.so", RTLD_NOW));
        for (int i = 0; i < 6; i++) CHECK(((int (*)(void))dlsym(h[i], "work"))() == 12090);
        for (int i = 6; i-- > 0;) CHECK(dlclose(h[i]) == 0);
    }
    CHECK(fixture_count("cuDriverGetVersion") == 6 * 4);
    puts("ok");
}
#endif
