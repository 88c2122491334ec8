/* A library that looks like Python's is opened, closed and opened again, with calls in between. A call while it is gone
 * must not go to where it was. With -DLIBRARY it is that library. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef LIBRARY
const unsigned long Py_Version = 0x030b07f0;
char _PyRuntime[1 << 16];
int asked;
void *PyGILState_GetThisThreadState(void) { return asked++, NULL; }
#else
#define CHECK(x) do { if (!(x)) { printf("FAIL %d: %s\n", __LINE__, #x); return 1; } } while (0)

int main(int words, char **word) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(words == 2 && driver);
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*release)(unsigned long long) = (int (*)(unsigned long long))dlsym(driver, "cuMemFree_v2");
    for (int n = 0; n < 6; n++) {
        void *python = dlopen(word[1], RTLD_NOW);
        CHECK(python);
        int *asked = dlsym(python, "asked");
        init(0);
        release(1);
        printf("asked %s\n", *asked > 0 ? "it" : "nothing");
        CHECK(dlclose(python) == 0 && !dlopen(word[1], RTLD_NOW | RTLD_NOLOAD));
        release(2);
    }
    puts("ok");
    return 0;
}
#endif
