/* A library with a relocated word inside its code (DT_TEXTREL): that word is left as it is and the library is listed; its
 * ordinary call is seen. Taking execution away from the page, to write it, was a SIGSEGV. */
//: lib libtextrel.so -DLIBRARY -Wl,-z,notext -l:libcuda.so.1
//: exe textrel
#include "fixture.h"

#ifdef LIBRARY
int in_code(void);
__asm__(".globl in_code\n.type in_code,@function\nin_code:\n sub $8,%rsp\n xor %edi,%edi\n movabs $cuInit,%rax\n call *%rax\n add $8,%rsp\n ret\n");
int ordinary(void);
int ordinary(void) { int v = 0; CHECK(cuDriverGetVersion(&v) == 0); return v; }
#else
int main(void) {
    void *h = dlopen("libtextrel.so", RTLD_NOW);
    CHECK(h);
    int (*in_code)(void) = (int (*)(void))dlsym(h, "in_code"), (*ordinary)(void) = (int (*)(void))dlsym(h, "ordinary");
    CHECK(in_code() == 0 && ordinary() == 12090 && in_code() == 0);
    CHECK(fixture_count("cuInit") == 2);
    puts("ok");
}
#endif
