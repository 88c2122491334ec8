/* Refuses device memory above HOOK_LIMIT bytes (1 GiB if it is not set), of the driver and of every copy of the runtime, with the
 * out-of-memory result that both have: all functions that take a size, or the sides of what they allocate (without the padding of rows).
 * Not refused: arrays (cuArrayCreate, cudaMallocArray and their kin, whose sides are in elements), nodes of graphs that allocate
 * (cuGraphAddMemAllocNode: a struct) and page-locked memory of the host (cuMemHostAlloc, cudaMallocHost). */
#include "cutap_hook.h"
#include <stdlib.h>

#define OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation */

static unsigned long long limit = 1ull << 30;

static unsigned long long times(unsigned long long a, unsigned long long b) {
    unsigned long long both;
    return __builtin_mul_overflow(a, b, &both) ? ~0ull : both;
}

static unsigned long long asked(const struct cutap_call *call) {
    size_t sides[3] = {0, 0, 0};
    int n = cutap_index(call, "extent");
    if (n >= 0) {
        cutap->read(call, n, sides, sizeof sides);
        return times(times(sides[0], sides[1]), sides[2]);
    }
    if (cutap_index(call, "WidthInBytes") >= 0)
        return times(cutap_unsigned(call, "WidthInBytes"), cutap_unsigned(call, "Height"));
    if (cutap_index(call, "width") >= 0)
        return times(cutap_unsigned(call, "width"), cutap_unsigned(call, "height"));
    n = cutap_index(call, "bytesize");
    return n >= 0 ? cutap_unsigned_at(call, n) : cutap_unsigned(call, "size");
}

static void refuse(struct cutap_call *call) {
    if (asked(call) > limit)
        cutap_return(call, OUT_OF_MEMORY); /* where a runtime cannot be answered, the driver's function below it is */
}

CUTAP_HOOK {
    static const char *const driver[] = {"cuMemAlloc",        "cuMemAllocPitch",         "cuMemAllocAsync",
                                         "cuMemAllocManaged", "cuMemAllocFromPoolAsync", "cuMemCreate"};
    static const char *const runtime[] = {"cudaMalloc",      "cudaMallocPitch",   "cudaMalloc3D",
                                          "cudaMallocAsync", "cudaMallocManaged", "cudaMallocFromPoolAsync"};
    const char *set = cutap_environment("HOOK_LIMIT");
    if (set)
        limit = strtoull(set, NULL, 10);
    for (size_t i = 0; i < sizeof driver / sizeof *driver; i++)
        cutap_register(CUTAP_DRIVER, driver[i], refuse, NULL);
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
        cutap_register(CUTAP_RUNTIME, runtime[i], refuse, NULL);
    return 0;
}
