/* Launches a kernel of two that it has loaded as PTX, by the driver. */
#include "../../runtimes/cudart.h"
#include <dlfcn.h>

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry one(.param .s32 n, .param .f64 x)\n{ ret; }\n"
                          ".visible .entry other(.param .u32 count, .param .f64 factor)\n{ ret; }\n";
int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module, *function;
    int (*load)(void **, const void *) = dlsym(driver, "cuModuleLoadData");
    int (*get)(void **, void *, const char *) = dlsym(driver, "cuModuleGetFunction");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) =
        dlsym(driver, "cuLaunchKernel");
    int n = -7;
    double x = 2.5;
    void *args[] = {&n, &x};
    int code = cudaFree(0);
    return code || load(&module, ptx) || get(&function, module, "one") || launch(function, 1, 1, 1, 1, 1, 1, 0, 0, args, 0);
}
