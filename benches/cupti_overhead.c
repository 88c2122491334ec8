/* The columns "CUPTI callback" and "CUPTI activity" of overhead.py. The driver loads this inside cuInit, named by
 * CUDA_INJECTION64_PATH, with CUPTI's library in CUPTI_LIB and `callback` or `activity` in CUPTI_MODE.
 *
 * callback: one subscriber to all driver and runtime calls, which does nothing. activity: records of all driver and
 * runtime calls, kernels and copies, in buffers of 8 MiB that are given back unread. A real tool does more than either.
 * The few declarations of CUPTI are written out, so that no NVIDIA header is needed.
 *
 *   gcc -O2 -shared -fPIC -o cupti_overhead.so cupti_overhead.c -ldl
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER_DOMAIN = 1, RUNTIME_DOMAIN = 2, COPIES = 1, DRIVER_CALLS = 4, RUNTIME_CALLS = 5, KERNELS = 10 };
enum { BUFFER = 8 << 20 };

static void nothing(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}
static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(64, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *records = 0;
}
static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    free(buffer);
}

static void must(int code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "cupti_overhead: %s: %d\n", what, code);
    exit(4);
}

int InitializeInjection(void)
{
    const char *library = getenv("CUPTI_LIB"), *mode = getenv("CUPTI_MODE");
    void *cupti = library ? dlopen(library, RTLD_NOW) : NULL, *subscriber = NULL;
    must(cupti == NULL, "cannot load CUPTI_LIB");
    if (mode && strcmp(mode, "activity") == 0) {
        static const uint32_t kinds[] = {COPIES, DRIVER_CALLS, RUNTIME_CALLS, KERNELS};
        int (*callbacks)(void *, void *) = (int (*)(void *, void *))dlsym(cupti, "cuptiActivityRegisterCallbacks");
        int (*enable)(uint32_t) = (int (*)(uint32_t))dlsym(cupti, "cuptiActivityEnable");
        must(callbacks((void *)requested, (void *)completed), "cuptiActivityRegisterCallbacks");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            must(enable(kinds[i]), "cuptiActivityEnable");
        return 1;
    }
    int (*subscribe)(void **, void *, void *) = (int (*)(void **, void *, void *))dlsym(cupti, "cuptiSubscribe");
    int (*enable)(uint32_t, void *, uint32_t) = (int (*)(uint32_t, void *, uint32_t))dlsym(cupti, "cuptiEnableDomain");
    must(subscribe(&subscriber, (void *)nothing, NULL), "cuptiSubscribe");
    must(enable(1, subscriber, DRIVER_DOMAIN), "cuptiEnableDomain driver");
    must(enable(1, subscriber, RUNTIME_DOMAIN), "cuptiEnableDomain runtime");
    return 1;
}
