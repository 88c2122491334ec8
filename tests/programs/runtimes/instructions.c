/* Calls one driver function so many times, from a fixed place in a page of the stack: what is counted must not depend on how long the
 * environment is. */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int (*function)();

static void __attribute__((noinline)) call(long times) {
    void *out, *parameters[1] = {0};
    for (long n = 0; n < times; n++) function(&out, parameters);
}

int main(int count, char **arguments) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (count != 3 || !driver) return 2;
    function = (int (*)())dlsym(driver, arguments[1]);
    if (!function) return 3;
    if (((int (*)(unsigned))dlsym(driver, "cuInit"))(0)) return 4;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    volatile char *room = alloca(((here - 2048) & 4095) + 64);
    *room = 0;
    call(atol(arguments[2]));
    return 0;
}
