/* A libcuda.so.1 in front of the driver, for `overhead --around`: it notes when cuLaunchKernel and cuMemcpyAsync are entered and left, and
 * passes all else on. What the driver does in between varies by a hundred times what a tool costs; without it the tool's sides are left.
 *
 *   gcc -O2 -shared -fPIC -Wl,-soname,libcuda.so.1 -o DIR/libcuda.so.1 timestamp_shim.c -ldl
 *   TIMESTAMP_SHIM_DRIVER=/path/of/the/real/libcuda.so.1 LD_LIBRARY_PATH=DIR ./overhead --switch --around
 *
 * Nothing that is measured may stand here but the two readings: functions are found once, at the start.
 */
#define _GNU_SOURCE
#include "timestamp_shim.h"
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long device_pointer;

struct noted noted;

/* What overhead.c, its runtime and cutap ask for by name; the runtime asks for the rest through cuGetProcAddress. */
#define PASSED_ON(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetExportTable) X(cuGetProcAddress) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDevicePrimaryCtxRetain) \
    X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuStreamCreate) X(cuStreamSynchronize) X(cuEventCreate) X(cuEventRecord) X(cuMemAlloc_v2) \
    X(cuModuleLoadData) X(cuModuleGetFunction) X(cuLibraryLoadData) X(cuFuncGetAttribute) X(cuFuncGetModule) X(cuFuncGetName) \
    X(cuFuncGetParamInfo) X(cuKernelGetName) X(cuKernelGetFunction) X(cuKernelGetParamInfo) X(cuProfilerStart) X(cuProfilerStop)

#define FUNCTION(name) \
    __attribute__((visibility("hidden"))) void *real_##name; \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n.balign 16\n" #name ":\n endbr64\n jmp *real_" #name "(%rip)\n.size " #name ", . - " #name);
PASSED_ON(FUNCTION)

static int (*real_copy)(device_pointer, device_pointer, size_t, void *);
static int (*real_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static int (*real_address)(const char *, void **, int, uint64_t, void *);

int cuMemcpyAsync(device_pointer to, device_pointer from, size_t bytes, void *stream)
{
    noted.entered = now(noted.fenced);
    int code = real_copy(to, from, bytes, stream);
    noted.left = now(noted.fenced);
    return code;
}

int cuLaunchKernel(void *kernel, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **parameters, void **extra)
{
    noted.entered = now(noted.fenced);
    int code = real_launch(kernel, x, y, z, bx, by, bz, shared, stream, parameters, extra);
    noted.left = now(noted.fenced);
    return code;
}

int cuGetProcAddress_v2(const char *name, void **to, int version, uint64_t how, void *status)
{
    int code = real_address(name, to, version, how, status);
    if (code != 0 || to == NULL || name == NULL)
        return code;
    /* Not the form of a per-thread default stream, which is another function. */
    if (*to == (void *)real_launch)
        *to = (void *)cuLaunchKernel;
    if (*to == (void *)real_copy)
        *to = (void *)cuMemcpyAsync;
    if (strncmp(name, "cuGetProcAddress", 16) == 0)
        *to = (void *)cuGetProcAddress_v2;
    return code;
}

static int not_found(void)
{
    return 500; /* CUDA_ERROR_NOT_FOUND: an older driver */
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("TIMESTAMP_SHIM_DRIVER");
    void *driver = path == NULL ? NULL : dlopen(path, RTLD_NOW);
    if (driver == NULL) {
        fprintf(stderr, "timestamp_shim: TIMESTAMP_SHIM_DRIVER must be the path of the real libcuda.so.1: %s\n", path == NULL ? "it is not set" : dlerror());
        exit(2);
    }
#define FIND(name) real_##name = own(driver, #name) ? own(driver, #name) : (void *)not_found;
    PASSED_ON(FIND)
    real_copy = own(driver, "cuMemcpyAsync");
    real_launch = own(driver, "cuLaunchKernel");
    real_address = own(driver, "cuGetProcAddress_v2");
    if (real_copy == NULL || real_launch == NULL || real_address == NULL) {
        fprintf(stderr, "timestamp_shim: %s is no driver of CUDA 12 or newer\n", path);
        exit(2);
    }
}
