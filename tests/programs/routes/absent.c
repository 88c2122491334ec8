/* No libcuda in the process: weak references and look-ups stay NULL, and dlerror says so, as without us. */
//: exe absent
#include "fixture.h"

CUresult cuInit(unsigned) __attribute__((weak));
int cudaMalloc(void **, size_t) __attribute__((weak));

int main(void) {
    CHECK(!cuInit && !cudaMalloc);
    const char *names[] = {"cuInit", "cuGetProcAddress_v2", "cudaMalloc", "cublasCreate_v2", "ncclCommInitRank"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        dlerror();
        CHECK(!dlsym(RTLD_DEFAULT, names[i]));
        const char *why = dlerror();
        CHECK(why && strstr(why, names[i]));
        CHECK(!dlsym(RTLD_NEXT, names[i]) && dlerror());
        CHECK(!dlvsym(RTLD_DEFAULT, names[i], "GLIBC_2.2.5") && dlerror());
    }
    CHECK(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
    puts("ok");
}
