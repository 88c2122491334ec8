/* Launches a kernel whose grid is the number of the step, once for each line of its input. Between them somebody
   switches GPU times off and on. With the argument "devices" it asks for the UUID of each device first. Prints its
   process id, each step, and the variable of injections as the program has it. */
//: exe gpu_steps
#include "fixture.h"
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long U;
typedef void *P;
static P driver;
static int call(const char *name, U a, U b, U c, U d, U e, U f, U g, U h, U i, U j, U k) {
    int (*function)(U, U, U, U, U, U, U, U, U, U, U) = (int (*)(U, U, U, U, U, U, U, U, U, U, U))dlsym(driver, name);
    return function ? function(a, b, c, d, e, f, g, h, i, j, k) : -1;
}
#define W(x) ((U)(uintptr_t)(x))
#define FIRST_(name, a, b, c, d, e, f, g, h, i, j, k, ...) CHECK(call(#name, W(a), W(b), W(c), W(d), W(e), W(f), W(g), W(h), W(i), W(j), W(k)) == 0)
#define OK(name, ...) FIRST_(name, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry first() { ret; }\n";

int main(int argc, char **argv) {
    P context, module, kernel;
    char line[16];
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver);
    OK(cuInit, 0);
    int devices = 0;
    char uuid[16];
    if (argc > 1 && !strcmp(argv[1], "devices")) OK(cuDeviceGetCount, &devices);
    for (int n = 0; n < devices; n++) OK(cuDeviceGetUuid, uuid, n);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuModuleLoadData, &module, ptx);
    OK(cuModuleGetFunction, &kernel, module, "first");
    printf("%d\n", getpid());
    fflush(stdout);
    for (int step = 1; fgets(line, sizeof line, stdin); step++) {
        OK(cuLaunchKernel, kernel, step, 1, 1, 1, 1, 1, 0, 0, 0, 0);
        printf("step %d\n", step);
        fflush(stdout);
    }
    const char *variable = getenv("CUDA_INJECTION64_PATH");
    printf("variable: %s\n", variable ? variable : "(unset)");
    return 0;
}
