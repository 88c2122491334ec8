/* Names that begin with cu and are not CUDA's, from a library that is not watched: nobody touches them. */
//: lib libplain.so -DLIBRARY
//: exe foreign -l:libplain.so
#include "fixture.h"

long curl_global_init(long flags);
int cuckoo_hash(int x);
int cuDoku(int x);
#ifdef LIBRARY
long curl_global_init(long flags) { return flags + 1; }
int cuckoo_hash(int x) { return x + 2; }
int cuDoku(int x) { return x + 3; }
#else
int main(void) {
    CHECK(curl_global_init(1) == 2 && cuckoo_hash(1) == 3 && cuDoku(1) == 4);
    void *h = dlopen("libplain.so", RTLD_NOW);
    CHECK(dlsym(h, "curl_global_init") == (void *)curl_global_init && dlsym(RTLD_DEFAULT, "cuckoo_hash") == (void *)cuckoo_hash);
    Dl_info where;
    CHECK(dladdr(dlsym(h, "cuDoku"), &where) && where.dli_saddr == (void *)cuDoku && strstr(where.dli_fname, "libplain.so"));
    puts("ok");
}
#endif
