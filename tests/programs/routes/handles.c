/* dlsym through every kind of handle: of the program, of a library that needs libcuda, of libcuda; and what dlerror says when there
 * is nothing: the same words as without us, and nothing left over from us. */
//: lib libneeds.so -DLIBRARY -l:libcuda.so.1
//: exe handles -l:libneeds.so
#include "fixture.h"

int needs(void);
#ifdef LIBRARY
int needs(void) { return 1; }
#else
int main(void) {
    const char *names[] = {0, "libneeds.so", "libcuda.so.1"};
    CHECK(needs());
    for (int i = 0; i < 3; i++) {
        void *h = dlopen(names[i], RTLD_NOW);
        CHECK(h && !dlerror());
        CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(h, "cuInit");
        CHECK(init && !dlerror() && init(0) == 0);
        CHECK(dlsym(h, "cuInit") == (void *)init && dlsym(RTLD_DEFAULT, "cuInit") == (void *)init);
        CHECK(!dlsym(h, "cuNobodyKnows"));
        const char *why = dlerror();
        CHECK(why);
        if (i) CHECK(strstr(why, "cuNobodyKnows") && strstr(why, names[i]));
        CHECK(!dlerror());
    }
    puts("ok");
}
#endif
