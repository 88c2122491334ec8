// A loop whose steps are ranges of NVTX with numbers in their names. One of them allocates memory.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>
#include <stdio.h>

typedef unsigned long long address;

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        return 1;
    }
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*use)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    int (*allocate)(address *, size_t) = (int (*)(address *, size_t))dlsym(driver, "cuMemAlloc_v2");
    int (*release)(address) = (int (*)(address))dlsym(driver, "cuMemFree_v2");
    int (*fill)(address, unsigned char, size_t) = (int (*)(address, unsigned char, size_t))dlsym(driver, "cuMemsetD8_v2");
    int (*wait)(void) = (int (*)(void))dlsym(driver, "cuCtxSynchronize");
    void *context = NULL;
    address memory = 0;
    nvtxRangePushA("start-up");
    if (init(0) || retain(&context, 0) || use(context) || allocate(&memory, 1 << 20)) {
        return 1;
    }
    nvtxRangePop();
    for (int n = 1; n <= 100; n++) {
        char name[32];
        snprintf(name, sizeof name, "step %d", n);
        nvtxRangeId_t whole = nvtxRangeStartA("in any thread");
        nvtxRangePushA(name);
        nvtxRangePushA("forward");
        fill(memory, 1, 1 << 20);
        nvtxRangePop();
        for (int i = 0; n == 60 && i < 200; i++) {
            address more = 0;
            allocate(&more, 1 << 20);
            release(more);
        }
        wait();
        nvtxRangePop();
        nvtxRangeEnd(whole);
    }
    return release(memory);
}
