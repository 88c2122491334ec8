/* What CUPTI itself costs: enables kinds of records and throws the buffers away unread. So cutap --gpu-time cannot
 * cost less with these records.
 *
 * libcuda loads it by CUDA_INJECTION64_PATH. GPU_TIME_FLOOR has words: `driver` also enables records of the driver
 * calls that submit work, with the ids of threads that the system has; `pinned` puts CUPTI's device buffers into host
 * memory; `flush` asks for finished records each second. It never calls CUDA. */
#define _GNU_SOURCE
#include "gpu_time_cupti.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { COPY = 1, SET = 2, BUFFER = 1 << 20, SPARES = 16, HOST_PINNED = 8, SYSTEM_IDS = 1 };
/* Callback ids of cuLaunchKernel, cuLaunchKernelEx, cuMemcpyHtoDAsync_v2, cuMemcpyDtoHAsync_v2, cuMemcpyDtoDAsync_v2,
 * cuMemcpyAsync, cuMemsetD8Async, cuMemsetD32Async and cuGraphLaunch. */
static const uint32_t submitting[] = {307, 652, 277, 279, 281, 306, 216, 220, 514};
static _Atomic(uint8_t *) spares[SPARES];

static void take(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = NULL;
    for (int n = 0; n < SPARES && !*buffer; n++)
        *buffer = atomic_exchange(&spares[n], NULL);
    if (!*buffer)
        *buffer = aligned_alloc(64, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *records = 0;
}

static void give(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    for (int n = 0; n < SPARES; n++) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(&spares[n], &none, buffer))
            return;
    }
    free(buffer);
}

static void *flush(void *nothing)
{
    (void)nothing;
    for (;;) {
        sleep(1);
        cupti.flush(0);
    }
}

int InitializeInjection(void)
{
    const char *words = getenv("GPU_TIME_FLOOR"), *missing = cupti_load();
    if (!missing && strstr(words ? words : "", "pinned")) {
        uint8_t yes = 1;
        size_t size = sizeof yes;
        if (cupti.set_attribute(HOST_PINNED, &size, &yes))
            missing = "pinned buffers";
    }
    if (missing || cupti.register_callbacks(take, give) || cupti.enable(CUPTI_CONCURRENT_KERNEL) || cupti.enable(COPY) ||
        cupti.enable(SET)) {
        fprintf(stderr, "gpu_time_floor_injection: %s\n", missing ? missing : "CUPTI refused");
        return 0;
    }
    if (strstr(words ? words : "", "driver")) {
        int (*choose)(uint32_t, uint8_t) = cupti_function("cuptiActivityEnableDriverApi");
        int (*use_ids)(uint32_t) = cupti_function("cuptiSetThreadIdType");
        if (use_ids)
            use_ids(SYSTEM_IDS);
        for (size_t n = 0; choose && n < sizeof submitting / sizeof *submitting; n++)
            if (choose(submitting[n], 1))
                fprintf(stderr, "gpu_time_floor_injection: no records of function %u\n", submitting[n]);
    }
    pthread_t thread;
    if (strstr(words ? words : "", "flush") && pthread_create(&thread, NULL, flush, NULL) == 0)
        pthread_detach(thread);
    return 1;
}
