/* Counts kernels by name and adds up their times with CUPTI's activity records, as an independent witness of cutap's
 * rows.
 *
 * libcuda loads it by CUDA_INJECTION64_PATH. At exit, GPU_TIME_COUNTS gets a line a kernel: count, nanoseconds,
 * records with bad times, mangled name. It never calls CUDA and never prints. */
#define _GNU_SOURCE
#include "gpu_time_cupti.h"
#include <pthread.h>
#include <unistd.h>

enum { KERNELS = 4096, BUFFER = 1 << 22 };

static struct {
    char *name;
    uint64_t count, ns, bad;
} kernels[KERNELS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t process;

static void take(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = (uint8_t *)aligned_alloc(64, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *records = 0;
}

static void count(const uint8_t *record)
{
    const char *name = (const char *)(uintptr_t)cupti_word(record, CUPTI_NAME);
    uint64_t start = cupti_word(record, CUPTI_START), end = cupti_word(record, CUPTI_END);
    for (size_t n = 0; n < KERNELS; n++) {
        if (!kernels[n].name)
            kernels[n].name = strdup(name ? name : "?");
        else if (strcmp(kernels[n].name, name ? name : "?") != 0)
            continue;
        kernels[n].count++;
        if (start == 0 || end < start)
            kernels[n].bad++;
        else
            kernels[n].ns += end - start;
        return;
    }
}

static void give(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    uint8_t *record = NULL;
    pthread_mutex_lock(&lock);
    while (valid && cupti.next(buffer, valid, &record) == 0)
        if (cupti_kind(record) == CUPTI_KERNEL || cupti_kind(record) == CUPTI_CONCURRENT_KERNEL)
            count(record);
    pthread_mutex_unlock(&lock);
    free(buffer);
}

static void at_exit(void)
{
    if (process != getpid())
        return; /* A forked child inherits this handler. */
    cupti.flush(CUPTI_FORCED);
    FILE *file = getenv("GPU_TIME_COUNTS") ? fopen(getenv("GPU_TIME_COUNTS"), "w") : NULL;
    if (!file)
        return;
    for (size_t n = 0; n < KERNELS && kernels[n].name; n++)
        fprintf(file, "%llu %llu %llu %s\n", (unsigned long long)kernels[n].count, (unsigned long long)kernels[n].ns,
                (unsigned long long)kernels[n].bad, kernels[n].name);
    fclose(file);
}

int InitializeInjection(void)
{
    const char *missing = cupti_load();
    if (missing || cupti.register_callbacks(take, give) || cupti.enable(CUPTI_CONCURRENT_KERNEL)) {
        fprintf(stderr, "gpu_time_count_injection: %s\n", missing ? missing : "CUPTI refused");
        return 0;
    }
    process = getpid();
    atexit(at_exit);
    return 1;
}
