/* libcuda.so.1 for stepped.c: launches, and nothing that a signal handler could wait for. */
#include <stddef.h>

int cuInit(unsigned flags) { return flags != 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &"context"[device];
    return 0;
}
int cuCtxSetCurrent(void *context) { return context == NULL; }
int cuCtxGetDevice(int *device) {
    *device = 0;
    return 0;
}
/* One handle for all: of a kernel "k", or of one with a number "alone". */
static int alone;
int cuModuleGetFunction(void **function, void *module, const char *name) {
    static char functions[1 << 22];
    *function = functions + 16;
    alone = *name == 'a';
    return module == NULL || (!alone && *name != 'k');
}
/* Two outputs; an input of 24 bytes, and an output; nothing that a header declares. */
int cuMemGetInfo_v2(size_t *free, size_t *total) {
    *free = 3;
    *total = 1L << 40;
    return 0;
}
int cuArrayCreate_v2(void **array, const void *descriptor) {
    *array = "array";
    return descriptor == NULL;
}
int cuStepNobodyDeclares(void **out, const void *in) {
    *out = "out";
    return in == NULL;
}
int cuModuleUnload(void *module) { return module == NULL; }
int cuCtxDestroy_v2(void *context) { return context == NULL; }
int cuDevicePrimaryCtxReset_v2(void *device) { return device == NULL; }
int cuDevicePrimaryCtxRelease_v2(void *device) { return device == NULL; }

/* How often it was asked for parameters. */
int stand_in_asked;
/* An address, a number, and three bytes; or a number alone. */
int cuFuncGetParamInfo(void *function, size_t n, size_t *offset, size_t *bytes) {
    static const size_t sizes[] = {8, 4, 3};
    stand_in_asked++;
    if (function == NULL || n >= (alone ? 1 : 3)) return 1;
    *offset = n * 8;
    *bytes = alone ? 4 : sizes[n];
    return 0;
}
/* The code says whether all words came as they were given. */
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
    void *stream, void **parameters, void **extra) {
    int words = function && gx == 1 && gy == 2 && gz == 3 && bx == 4 && by == 5 && bz == 6 && shared == 7 && !stream && !extra;
    if (gx == 9) return *(int *)parameters[0] != 42;
    return !words || *(long *)parameters[0] != 0x1122334455667788 || *(int *)parameters[1] != 99 || ((char *)parameters[2])[2] != 'c';
}
