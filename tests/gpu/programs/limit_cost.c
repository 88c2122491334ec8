/* What calls cost with and without --limit-memory: nanoseconds of a call, the median of rounds. Without arguments: cuMemAlloc with cuMemFree,
 * cuMemAllocAsync with cuMemFreeAsync, cuMemGetInfo, and cuLaunchHostFunc with a wait, which has no rule but the wait. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *driver, *stream;
#define CALL(name, ...) (((int (*)())dlsym(driver, #name))(__VA_ARGS__))
#define CHECK(call) do { int e_ = (call); if (e_) { printf("%s = %d\n", #call, e_); exit(1); } } while (0)
#define ROUNDS 15
#define CALLS 400

static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static int by_size(const void *a, const void *b) { return *(long *)a < *(long *)b ? -1 : *(long *)a > *(long *)b; }
static void nothing(void *unused) { (void)unused; }

#define MEASURE(name, body) do { long all[ROUNDS]; for (int r = 0; r < ROUNDS; r++) { long begin = now(); \
    for (int n = 0; n < CALLS; n++) { body; } all[r] = (now() - begin) / CALLS; } \
    qsort(all, ROUNDS, sizeof(long), by_size); printf("%s %ld\n", name, all[ROUNDS / 2]); } while (0)

int main(void) {
    void *context;
    unsigned long long at, free, total;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*alloc)() = dlsym(driver, "cuMemAlloc_v2"), (*release)() = dlsym(driver, "cuMemFree_v2");
    int (*alloc_async)() = dlsym(driver, "cuMemAllocAsync"), (*free_async)() = dlsym(driver, "cuMemFreeAsync");
    int (*info)() = dlsym(driver, "cuMemGetInfo_v2"), (*host)() = dlsym(driver, "cuLaunchHostFunc");
    int (*wait)() = dlsym(driver, "cuStreamSynchronize");
    CHECK(CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context));
    CHECK(CALL(cuStreamCreate, &stream, 1));
    MEASURE("cuMemAlloc+cuMemFree", CHECK(alloc(&at, 4096ull) || release(at)));
    MEASURE("cuMemAllocAsync+cuMemFreeAsync", CHECK(alloc_async(&at, 4096ull, stream) || free_async(at, stream)));
    MEASURE("cuMemGetInfo", CHECK(info(&free, &total)));
    MEASURE("cuLaunchHostFunc+cuStreamSynchronize", CHECK(host(stream, nothing, (void *)0) || wait(stream)));
    return 0;
}
