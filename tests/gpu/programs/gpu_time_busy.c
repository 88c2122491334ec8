/* Keeps the first GPU busy for so many seconds (argument 1) with a kernel of some milliseconds, launched again and again.
   A slow clock shows in the number of kernels, which it prints. On the simulated driver, which runs none, it pauses for
   so many microseconds (argument 2) behind each. Needs the driver alone: gcc FILE -ldl. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long U;
typedef int (*Function)(U, U, U, U, U, U, U, U, U, U, U);

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry busy(.param .u32 rounds) {\n"
    "  .reg .u32 %n;\n  .reg .f32 %a<4>;\n  .reg .pred %more;\n"
    "  ld.param.u32 %n, [rounds];\n"
    "  mov.f32 %a0, 0f3F800001;\n  mov.f32 %a1, 0f3F7FFFFE;\n  mov.f32 %a2, 0f3F800003;\n  mov.f32 %a3, 0f3F7FFFFC;\n"
    "again:\n"
    "  fma.rn.f32 %a0, %a0, %a1, %a2;\n  fma.rn.f32 %a1, %a1, %a2, %a3;\n"
    "  fma.rn.f32 %a2, %a2, %a3, %a0;\n  fma.rn.f32 %a3, %a3, %a0, %a1;\n"
    "  sub.u32 %n, %n, 1;\n  setp.ne.u32 %more, %n, 0;\n"
    "  @%more bra again;\n"
    /* Never true, and not known to the compiler: without it nothing would be left to compute. */
    "  setp.eq.f32 %more, %a3, 0f7F7FFFFF;\n"
    "  @%more trap;\n"
    "  ret;\n}\n";

static void *driver;

static void call(const char *name, U a, U b, U c, U d, U e, U f, U g, U h, U i, U j, U k) {
    Function function = (Function)dlsym(driver, name);
    int code = function ? function(a, b, c, d, e, f, g, h, i, j, k) : -1;
    if (code) {
        fprintf(stderr, "%s: %d\n", name, code);
        exit(1);
    }
}
#define CALL_(name, a, b, c, d, e, f, g, h, i, j, k, ...) \
    call(#name, (U)(a), (U)(b), (U)(c), (U)(d), (U)(e), (U)(f), (U)(g), (U)(h), (U)(i), (U)(j), (U)(k))
#define CALL(name, ...) CALL_(name, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    unsigned pause = argc > 2 ? atoi(argv[2]) : 0;
    void *context, *module, *kernel;
    char uuid[16];
    unsigned rounds = 1 << 18;
    void *parameters[] = {&rounds};
    if (!(driver = dlopen("libcuda.so.1", RTLD_NOW))) return 2;
    CALL(cuInit, 0);
    CALL(cuDeviceGetUuid, uuid, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ptx);
    CALL(cuModuleGetFunction, &kernel, module, "busy");
    long kernels = 0;
    for (double begin = now(); now() - begin < seconds;) {
        CALL(cuLaunchKernel, kernel, 1056, 1, 1, 256, 1, 1, 0, 0, parameters, 0);
        if (pause) usleep(pause);
        if (++kernels % 4 == 0) CALL(cuCtxSynchronize, 0);
    }
    CALL(cuCtxSynchronize, 0);
    printf("kernels: %ld\n", kernels);
    return 0;
}
