/* Every way to allocate device memory by its size or its sides, of the runtime and of the driver: a little, then 3 GiB and more. */
#include "../../runtimes/cudart.h"
#include <dlfcn.h>

typedef struct pool *pool_t;
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *, struct cudaExtent);
cudaError_t cudaDeviceGetDefaultMemPool(pool_t *, int);
cudaError_t cudaMallocFromPoolAsync(void **, size_t, pool_t, cudaStream_t);
cudaError_t cudaMallocAsync_ptsz(void **, size_t, cudaStream_t);
cudaError_t cudaMallocFromPoolAsync_ptsz(void **, size_t, pool_t, cudaStream_t);

struct properties { int type, handles; struct { int type, id; } location; void *security; char flags[8]; };

static const size_t kib = 1024, mib = 1 << 20;
static void *p;
static size_t pitch;

#define SAY(call, little, large) printf("%s: %d %d\n", call, little, large)
#define DRIVER(name) int (*name)() = (int (*)())dlsym(driver, #name)

int main(void) {
    struct cudaPitchedPtr planes;
    struct cudaExtent few = {kib, 2, 2}, many = {mib, 60, 50};
    pool_t pool, of_the_driver;
    int devices;
    if (cudaSetDevice(0) || cudaDeviceGetDefaultMemPool(&pool, 0)) return 1;
    SAY("cudaMalloc", cudaMalloc(&p, kib), cudaMalloc(&p, 3000 * mib));
    SAY("cudaMallocPitch", cudaMallocPitch(&p, &pitch, kib, 3), cudaMallocPitch(&p, &pitch, mib, 3000));
    SAY("cudaMallocPitch, beyond all numbers", 0, cudaMallocPitch(&p, &pitch, (size_t)1 << 40, (size_t)1 << 40));
    SAY("cudaMalloc3D", cudaMalloc3D(&planes, few), cudaMalloc3D(&planes, many));
    SAY("cudaMallocManaged", cudaMallocManaged(&p, kib, 1), cudaMallocManaged(&p, 3000 * mib, 1));
    SAY("cudaMallocAsync", cudaMallocAsync(&p, kib, 0), cudaMallocAsync(&p, 3000 * mib, 0));
    SAY("cudaMallocAsync_ptsz", cudaMallocAsync_ptsz(&p, kib, 0), cudaMallocAsync_ptsz(&p, 3000 * mib, 0));
    SAY("cudaMallocFromPoolAsync", cudaMallocFromPoolAsync(&p, kib, pool, 0), cudaMallocFromPoolAsync(&p, 3000 * mib, pool, 0));
    SAY("cudaMallocFromPoolAsync_ptsz", cudaMallocFromPoolAsync_ptsz(&p, kib, pool, 0),
        cudaMallocFromPoolAsync_ptsz(&p, 3000 * mib, pool, 0));

    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    DRIVER(cuDeviceGetCount);
    DRIVER(cuDeviceGetDefaultMemPool);
    DRIVER(cuMemAlloc_v2);
    DRIVER(cuMemAllocPitch_v2);
    DRIVER(cuMemAllocManaged);
    DRIVER(cuMemAllocAsync);
    DRIVER(cuMemAllocAsync_ptsz);
    DRIVER(cuMemAllocFromPoolAsync);
    DRIVER(cuMemAllocFromPoolAsync_ptsz);
    DRIVER(cuMemCreate);
    if (cuDeviceGetDefaultMemPool(&of_the_driver, 0)) return 1;
    SAY("cuMemAlloc_v2", cuMemAlloc_v2(&p, kib), cuMemAlloc_v2(&p, 3000 * mib));
    SAY("cuMemAllocPitch_v2", cuMemAllocPitch_v2(&p, &pitch, kib, (size_t)3, 4), cuMemAllocPitch_v2(&p, &pitch, mib, (size_t)3000, 4));
    SAY("cuMemAllocManaged", cuMemAllocManaged(&p, kib, 1), cuMemAllocManaged(&p, 3000 * mib, 1));
    SAY("cuMemAllocAsync", cuMemAllocAsync(&p, kib, (void *)0), cuMemAllocAsync(&p, 3000 * mib, (void *)0));
    SAY("cuMemAllocAsync_ptsz", cuMemAllocAsync_ptsz(&p, kib, (void *)0), cuMemAllocAsync_ptsz(&p, 3000 * mib, (void *)0));
    SAY("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync(&p, kib, of_the_driver, (void *)0),
        cuMemAllocFromPoolAsync(&p, 3000 * mib, of_the_driver, (void *)0));
    SAY("cuMemAllocFromPoolAsync_ptsz", cuMemAllocFromPoolAsync_ptsz(&p, kib, of_the_driver, (void *)0),
        cuMemAllocFromPoolAsync_ptsz(&p, 3000 * mib, of_the_driver, (void *)0));
    struct properties pinned = {1, 0, {1, 0}, NULL, {0}};
    SAY("cuMemCreate", cuMemCreate(&p, 2 * mib, &pinned, 0ull), cuMemCreate(&p, 3000 * mib, &pinned, 0ull));
    devices = -1;
    int code = cuDeviceGetCount(&devices);
    printf("cuDeviceGetCount: %d %d\n", code, devices);
    devices = -1;
    code = cudaGetDeviceCount(&devices);
    printf("cudaGetDeviceCount: %d %d\n", code, devices);
    return 0;
}
