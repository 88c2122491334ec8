/* Calls one driver function so many times, from a fixed place in a page of the stack: what is counted must not depend on how long the
 * environment is. */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int (*function)();
static void *kernel;

static void __attribute__((noinline)) call(long times) {
    void *out, *parameters[3] = {0};
    if (kernel) { /* a pointer and a number, as nvcc's stubs pass them */
        uint64_t p = 64;
        int n = 1;
        void *of_kernel[] = {&p, &n};
        for (long i = 0; i < times; i++) function(kernel, 1, 1, 1, 32, 1, 1, 0, (void *)0, of_kernel, (void **)0);
        return;
    }
    for (long n = 0; n < times; n++) function(&out, parameters);
}

int main(int count, char **arguments) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (count != 3 || !driver) return 2;
    function = (int (*)())dlsym(driver, arguments[1]);
    if (!function) return 3;
    if (((int (*)(unsigned))dlsym(driver, "cuInit"))(0)) return 4;
    if (!strcmp(arguments[1], "cuMemGetInfo_v2")) {
        void *context;
        if (((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0)) return 5;
        if (((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context)) return 6;
        void *free, *total;
        if (function(&free, &total)) return 9;
    }
    if (!strcmp(arguments[1], "cuLaunchKernel")) {
        static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
            ".visible .entry nothing(.param .u64 p, .param .u32 n)\n{\n  ret;\n}\n";
        void *context, *module;
        if (((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0)) return 5;
        if (((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context)) return 6;
        if (((int (*)(void **, const char *))dlsym(driver, "cuModuleLoadData"))(&module, ptx)) return 7;
        if (((int (*)(void **, void *, const char *))dlsym(driver, "cuModuleGetFunction"))(&kernel, module, "nothing")) return 8;
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    volatile char *room = alloca(((here - 2048) & 4095) + 64);
    *room = 0;
    call(atol(arguments[2]));
    return 0;
}
