// A program that profiles itself with CUPTI: 1,000 launches are profiled, 500 later ones are not. It registers after
// the first call of CUDA (`later`), so after cutap, or before it (`first`). What it counts must not depend on cutap.
#include "gpu_time_cupti.h"

#include <atomic>

#include <cuda_runtime.h>

__global__ void profiled() {}

__global__ void unprofiled() {}

static std::atomic<int> kernels, of_others, bad_times;

static void take(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 1 << 20;
    *buffer = static_cast<uint8_t *>(aligned_alloc(64, *size));
    *records = 0;
}

static void give(void *, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
    uint8_t *record = nullptr;
    while (valid && cupti.next(buffer, valid, &record) == 0) {
        if (cupti_kind(record) != CUPTI_CONCURRENT_KERNEL && cupti_kind(record) != CUPTI_KERNEL) {
            of_others++;
            continue;
        }
        const uint64_t start = cupti_word(record, CUPTI_START), end = cupti_word(record, CUPTI_END);
        kernels++;
        if (start == 0 || end < start)
            bad_times++;
    }
    free(buffer);
}

static void start_profile()
{
    const char *missing = cupti_load();
    if (missing) {
        printf("skip: %s\n", missing);
        std::exit(0);
    }
    printf("register %d", cupti.register_callbacks(take, give));
    printf(" enable %d\n", cupti.enable(CUPTI_CONCURRENT_KERNEL));
}

int main(int, char **arguments)
{
    const bool is_first = strcmp(arguments[1], "first") == 0;
    if (is_first)
        start_profile();
    printf("first call: %s\n", cudaGetErrorName(cudaFree(nullptr)));
    if (!is_first) {
        // The rows of these are cutap's.
        for (int n = 0; n < 100; n++)
            unprofiled<<<1, 1>>>();
        cudaDeviceSynchronize();
        start_profile();
    }
    for (int n = 0; n < 1000; n++)
        profiled<<<1, 1>>>();
    printf("launches: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("flush %d", cupti.flush(CUPTI_FORCED));
    printf(" disable %d\n", cupti.disable(CUPTI_CONCURRENT_KERNEL));
    for (int n = 0; n < 500; n++)
        unprofiled<<<1, 1>>>();
    cudaDeviceSynchronize();
    printf("flush %d\n", cupti.flush(CUPTI_FORCED));
    printf("kernels %d, with bad times %d, other records %d\n", kernels.load(), bad_times.load(), of_others.load());
    return 0;
}
