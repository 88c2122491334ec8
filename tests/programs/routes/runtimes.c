/* Three shared runtimes in one process, one with a name given by auditwheel; and one call through all three layers. */
//: exe runtimes
//: exe layers -DLINKED -l:libcublas.so.12
#include "fixture.h"

#ifdef LINKED
int main(void) {
    void *handle = 0;
    CHECK(cublasCreate_v2(&handle) == 0 && handle == (void *)0x10000);
    puts("ok");
}
#else
static void use(const char *name, int expected) {
    void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL), *p = 0;
    CHECK(h);
    int (*version)(int *) = (int (*)(int *))dlsym(h, "cudaRuntimeGetVersion"), v = 0;
    int (*alloc)(void **, size_t) = (int (*)(void **, size_t))dlsym(h, "cudaMalloc");
    int (*release)(void *) = (int (*)(void *))dlvsym(h, "cudaFree", "libcudart.fixture");
    CHECK(version && alloc && release && !dlvsym(h, "cudaFree", "libcudart.other"));
    CHECK(version(&v) == 0 && v == expected);
    CHECK(alloc(&p, 64) == 0 && p == (void *)0x10000);
    CHECK(alloc(&p, 0) == 1);
    CHECK(release((void *)0x10000) == 0);
}
int main(void) {
    use("libcudart.so.12", 12090);
    use("libcudart.so.11.0", 11080);
    use("libcudart-d0da41ae.so.11.0", 11010);
    puts("ok");
}
#endif
