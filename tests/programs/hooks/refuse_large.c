/* Refuses allocations above HOOK_LIMIT bytes (1 GiB if it is not set), of the driver and of every copy of the runtime, with the
 * out-of-memory result that both have. */
#include "cutap_hook.h"
#include <stdlib.h>

#define OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation */

static unsigned long long limit = 1ull << 30;

static void refuse(struct cutap_call *call) {
    const char *size = call->function->layer == CUTAP_DRIVER ? "bytesize" : "size";
    if (cutap_unsigned(call, size) > limit)
        cutap_answer(call, OUT_OF_MEMORY);
}

CUTAP_HOOK {
    const char *set = cutap_environment("HOOK_LIMIT");
    if (set)
        limit = strtoull(set, NULL, 10);
    cutap_want(CUTAP_DRIVER, "cuMemAlloc_v2", refuse, NULL);
    cutap_want(CUTAP_DRIVER, "cuMemAllocAsync*", refuse, NULL);
    cutap_want(CUTAP_DRIVER, "cuMemAllocManaged", refuse, NULL);
    cutap_want(CUTAP_RUNTIME, "cudaMalloc", refuse, NULL);
    cutap_want(CUTAP_RUNTIME, "cudaMallocAsync*", refuse, NULL);
    cutap_want(CUTAP_RUNTIME, "cudaMallocManaged", refuse, NULL);
    return 0;
}
