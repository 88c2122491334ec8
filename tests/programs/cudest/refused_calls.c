/* Calls that cutap's driver refuses on a GPU: each answers CUDA_ERROR_NOT_SUPPORTED, and the process lists them at its end.
 * The prototypes are written out, so that no header of CUDA is needed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t dptr;
struct handle {
    char bytes[64];
};
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuCtxSetCurrent(void *ctx);
int cuMemAlloc_v2(dptr *out, size_t bytes);
int cuEventCreate(void **event, unsigned flags);
int cuArrayCreate_v2(void **array, const void *description);
int cuArrayDestroy(void *array);
int cuIpcGetMemHandle(struct handle *handle, dptr p);
int cuIpcOpenMemHandle_v2(dptr *p, struct handle handle, unsigned flags);
int cuIpcGetEventHandle(struct handle *handle, void *event);
int cuIpcOpenEventHandle(void **event, struct handle handle);
int cuMemPoolExportToShareableHandle(void *shared, void *pool, int kind, unsigned long long flags);
int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuTexObjectCreate(uint64_t *object, const void *resource, const void *sampling, const void *view);
int cuSurfObjectCreate(uint64_t *object, const void *resource);
int cuTexRefSetArray(void *reference, void *array, unsigned flags);
int cuTexRefCreate(void **reference);

#define OK(call)                                                      \
    do {                                                              \
        int code_ = (call);                                           \
        if (code_ != 0) {                                             \
            printf("%s = %d (line %d)\n", #call, code_, __LINE__);    \
            exit(2);                                                  \
        }                                                             \
    } while (0)

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    void *ctx, *event, *array, *pool, *reference;
    dptr at;
    uint64_t object;
    struct handle handle = {{0}};
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    OK(cuMemAlloc_v2(&at, 1 << 20));
    OK(cuEventCreate(&event, 6));
    struct { uint64_t width, height; unsigned format, channels; } description = {64, 64, 0x20, 1};
    OK(cuArrayCreate_v2(&array, &description));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuTexRefCreate(&reference));
    uint64_t resource[18] = {0, (uint64_t)array}, sampling[13] = {0};
    int shared;
    for (int n = 0; n < 2; n++) printf("cuIpcGetMemHandle: %d\n", cuIpcGetMemHandle(&handle, at));
    printf("cuIpcOpenMemHandle: %d\n", cuIpcOpenMemHandle_v2(&at, handle, 1));
    printf("cuIpcGetEventHandle: %d\n", cuIpcGetEventHandle(&handle, event));
    printf("cuIpcOpenEventHandle: %d\n", cuIpcOpenEventHandle(&event, handle));
    printf("cuMemPoolExportToShareableHandle: %d\n", cuMemPoolExportToShareableHandle(&shared, pool, 1, 0));
    printf("cuTexObjectCreate: %d\n", cuTexObjectCreate(&object, resource, sampling, NULL));
    printf("cuSurfObjectCreate: %d\n", cuSurfObjectCreate(&object, resource));
    printf("cuTexRefSetArray: %d\n", cuTexRefSetArray(reference, array, 1));
    OK(cuArrayDestroy(array));
    return 7;
}
