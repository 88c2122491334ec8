/* A library that nobody else can see: opened RTLD_LOCAL, RTLD_DEEPBIND (where it calls libc's own dlsym), and in a namespace of
 * its own. RTLD_DEFAULT means another thing inside it than in the program: that must stay so. */
//: lib libscoped.so -DLIBRARY -Wl,-z,lazy -l:libcuda.so.1
//: exe local -DOPEN=dlopen("libscoped.so",RTLD_LAZY|RTLD_LOCAL)
//: exe deepbind -DOPEN=dlopen("libscoped.so",RTLD_LAZY|RTLD_LOCAL|RTLD_DEEPBIND)
//: exe namespace -DOPEN=dlmopen(LM_ID_NEWLM,"libscoped.so",RTLD_LAZY)
#include "fixture.h"

#ifdef LIBRARY
int run(void);
int run(void) {
    int v = 0;
    CHECK(cuInit(0) == 0);
    CUresult (*version)(int *) = (CUresult (*)(int *))dlsym(RTLD_DEFAULT, "cuDriverGetVersion");
    CHECK(version && version(&v) == 0);
    return v;
}
#else
int main(void) {
    void *h = OPEN;
    CHECK(h);
    CHECK(!dlsym(RTLD_DEFAULT, "cuInit"));
    int (*run)(void) = (int (*)(void))dlsym(h, "run");
    CHECK(run && run() == 12090 && run() == 12090);
    CUresult (*release)(CUdeviceptr) = (CUresult (*)(CUdeviceptr))dlsym(h, "cuMemFree_v2"); /* found in its dependency */
    CHECK(release && release(1) == 0);
    puts("ok");
}
#endif
