/* A driver-API program on cutap's driver: copies of all kinds, sets, events, two streams, a function of the host, a
 * variable and a kernel of a cubin. It prints what is right. The prototypes are written out, so that no header of
 * CUDA is needed.
 *
 *     own_driver CUBIN [computed]
 *
 * With `computed` the results of the kernel are checked too: on a GPU, not on the model of the kernel driver. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t dptr;
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetAttribute(int *value, int id, int device);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *ctx);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(dptr *out, size_t bytes);
int cuMemAllocHost_v2(void **out, size_t bytes);
int cuMemAllocManaged(dptr *out, size_t bytes, unsigned flags);
int cuMemFree_v2(dptr p);
int cuMemFreeHost(void *p);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *all);
int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *p);
int cuMemcpyHtoD_v2(dptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, dptr from, size_t bytes);
int cuMemcpyDtoD_v2(dptr to, dptr from, size_t bytes);
int cuMemcpyHtoDAsync_v2(dptr to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, dptr from, size_t bytes, void *stream);
int cuMemsetD8_v2(dptr to, unsigned char value, size_t count);
int cuMemsetD32Async(dptr to, unsigned value, size_t count, void *stream);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamQuery(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventQuery(void *event);
int cuEventElapsedTime(float *ms, void *start, void *end);
int cuEventDestroy_v2(void *event);
int cuMemCreate(uint64_t *handle, size_t size, const void *properties, unsigned long long flags);
int cuMemExportToShareableHandle(void *shared, uint64_t handle, int kind, unsigned long long flags);
int cuMemRelease(uint64_t handle);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra);

#define OK(call)                                                      \
    do {                                                              \
        int code_ = (call);                                           \
        if (code_ != 0) {                                             \
            printf("%s = %d (line %d)\n", #call, code_, __LINE__);    \
            exit(2);                                                  \
        }                                                             \
    } while (0)

enum { N = 1 << 20, BYTES = N * 4, MULTIPROCESSORS = 16 };
static float x[N], y[N], sum[N];

static void *file_content(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *bytes = malloc(size + 1);
    if (fread(bytes, 1, size, file) != (size_t)size) exit(2);
    bytes[size] = 0;
    fclose(file);
    return bytes;
}

static int count_equal(const float *got, const float *wanted) {
    int equal = 0;
    for (int n = 0; n < N; n++) equal += got[n] == wanted[n];
    return equal;
}

static void on_host(void *data) { ++*(int *)data; }

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    int is_computed = argc > 2 && strcmp(argv[2], "computed") == 0;
    int devices, multiprocessors;
    char name[100];
    void *ctx, *module, *add;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&devices));
    OK(cuDeviceGetName(name, sizeof name, 0));
    OK(cuDeviceGetAttribute(&multiprocessors, MULTIPROCESSORS, 0));
    printf("devices %d, %s, %d SMs\n", devices > 0, strstr(name, "H100") ? "H100" : name, multiprocessors);
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    size_t free_bytes, all_bytes;
    OK(cuMemGetInfo_v2(&free_bytes, &all_bytes));
    printf("memory is free: %d\n", free_bytes > 0 && (free_bytes <= all_bytes || !is_computed));

    for (int n = 0; n < N; n++) x[n] = n, y[n] = 2 * n;
    dptr a, b, c;
    OK(cuMemAlloc_v2(&a, BYTES));
    OK(cuMemAlloc_v2(&b, BYTES));
    OK(cuMemAlloc_v2(&c, BYTES));
    OK(cuMemcpyHtoD_v2(a, x, BYTES));
    OK(cuMemcpyHtoD_v2(b, y, BYTES));
    OK(cuMemcpyDtoD_v2(c, a, BYTES));
    OK(cuMemcpyDtoH_v2(sum, c, BYTES));
    printf("pageable copies right: %d\n", count_equal(sum, x) == N);

    void *first, *second, *start, *end, *page_locked;
    OK(cuStreamCreate(&first, 1));
    OK(cuStreamCreate(&second, 0));
    OK(cuEventCreate(&start, 0));
    OK(cuEventCreate(&end, 0));
    OK(cuMemAllocHost_v2(&page_locked, BYTES));
    memcpy(page_locked, y, BYTES);
    OK(cuEventRecord(start, first));
    OK(cuMemcpyHtoDAsync_v2(c, page_locked, BYTES, first));
    OK(cuEventRecord(end, first));
    OK(cuStreamWaitEvent(second, end, 0));
    OK(cuMemcpyDtoHAsync_v2(page_locked, c, BYTES, second));
    OK(cuStreamSynchronize(second));
    printf("page-locked copies right: %d\n", count_equal(page_locked, y) == N);
    float ms;
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, start, end));
    printf("time passes: %d\n", ms >= 0);

    float *pages = aligned_alloc(4096, BYTES);
    memcpy(pages, x, BYTES);
    OK(cuMemHostRegister_v2(pages, BYTES, 0));
    OK(cuMemcpyHtoDAsync_v2(c, pages, BYTES, first));
    OK(cuMemsetD32Async(c, 0x40400000, N / 2, first));
    OK(cuMemcpyDtoHAsync_v2(pages, c, BYTES, first));
    OK(cuStreamSynchronize(first));
    int right = 0;
    for (int n = 0; n < N; n++) right += pages[n] == (n < N / 2 ? 3.0f : x[n]);
    printf("registered copies and sets right: %d\n", right == N);
    OK(cuMemHostUnregister(pages));

    OK(cuModuleLoadData(&module, file_content(argv[1])));
    OK(cuModuleGetFunction(&add, module, "vecadd"));
    int n = N, calls = 0;
    void *params[] = {&a, &b, &c, &n};
    for (int round = 0; round < 1000; round++)
        OK(cuLaunchKernel(add, N / 256, 1, 1, 256, 1, 1, 0, round % 2 ? first : second, params, NULL));
    OK(cuLaunchHostFunc(first, on_host, &calls));
    OK(cuLaunchKernel(add, N / 256, 1, 1, 256, 1, 1, 0, first, params, NULL));
    OK(cuLaunchHostFunc(first, on_host, &calls));
    OK(cuCtxSynchronize());
    printf("functions of the host: %d\n", calls);
    OK(cuMemcpyDtoH_v2(sum, c, BYTES));
    right = 0;
    for (int i = 0; i < N; i++) right += sum[i] == x[i] + y[i];
    if (is_computed) printf("sums right: %d\n", right == N);

    dptr managed;
    OK(cuMemAllocManaged(&managed, BYTES, 1));
    memset((void *)managed, 0, BYTES);
    OK(cuMemsetD8_v2(managed, 1, BYTES));
    OK(cuStreamSynchronize(NULL));
    printf("managed memory: %x\n", *(unsigned *)managed);
    OK(cuMemFree_v2(managed));

    if (!is_computed) {
        /* cutap's driver alone refuses it. */
        uint64_t handle;
        int descriptor;
        unsigned properties[8] = {1, 1, 1};
        OK(cuMemCreate(&handle, 2 << 20, properties, 0));
        printf("memory for another process: %d\n", cuMemExportToShareableHandle(&descriptor, handle, 1, 0));
        OK(cuMemRelease(handle));
    }
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuEventDestroy_v2(start));
    OK(cuEventDestroy_v2(end));
    OK(cuMemFreeHost(page_locked));
    OK(cuModuleUnload(module));
    OK(cuMemFree_v2(a));
    OK(cuMemFree_v2(b));
    OK(cuMemFree_v2(c));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    puts("done");
    return 7;
}
