/* Who is at this address? Asked of pointers that cutap handed out, the answer is the real function and its library. */
//: exe dladdr -l:libcuda.so.1
#include "fixture.h"
#include <link.h>

static void ask(void *p, const char *function, const char *library) {
    Dl_info a, b;
    struct link_map *map = 0;
    const ElfW(Sym) *symbol = 0;
    CHECK(p && dladdr(p, &a) && a.dli_sname && !strcmp(a.dli_sname, function) && strstr(a.dli_fname, library));
    CHECK(dladdr1(p, &b, (void **)&map, RTLD_DL_LINKMAP) && map && strstr(map->l_name, library) && b.dli_saddr == a.dli_saddr);
    CHECK(dladdr1(p, &b, (void **)&symbol, RTLD_DL_SYMENT) && symbol && (char *)a.dli_fbase + symbol->st_value == (char *)a.dli_saddr);
}
int main(void) {
    void *h = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL), *f = 0;
    ask((void *)cuInit, "cuInit", "libcuda.so.1");
    ask(dlsym(RTLD_DEFAULT, "cuMemFree_v2"), "cuMemFree_v2", "libcuda.so.1");
    ask(dlsym(h, "cublasGetVersion_v2"), "cublasGetVersion_v2", "libcublas.so.13");
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &f, 12000, 0, 0) == 0);
    ask(f, "cuMemAlloc_v2", "libcuda.so.1");
    ask(dlsym(RTLD_DEFAULT, "qsort"), "qsort", "libc.so.6");
    Dl_info none;
    CHECK(!dladdr((void *)8, &none));
    puts("ok");
}
