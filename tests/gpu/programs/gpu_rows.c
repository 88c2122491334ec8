/* A stand-in for the preload: takes the rows of the injection and counts them by kind. ROWS names a file that gets each row, a line of
 * numbers: kind, then its words. At the end a line on standard error has the counts. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_KIND = 128, KINDS = 128, LAST_WORK = 130 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long counts[KINDS], bad_times;
static uint32_t names;
static FILE *file;

void cutap_gpu_row(uint32_t kind, const uint64_t *words, uint32_t count) {
    pthread_mutex_lock(&lock);
    counts[kind % KINDS]++;
    if (kind <= LAST_WORK && count > 1 && (words[0] == 0 || words[1] < words[0])) bad_times++;
    if (!file && getenv("ROWS")) file = fopen(getenv("ROWS"), "w");
    if (file) {
        fprintf(file, "%u", kind);
        for (uint32_t n = 0; n < count; n++) fprintf(file, " %llu", (unsigned long long)words[n]);
        fputc('\n', file);
    }
    pthread_mutex_unlock(&lock);
}

uint32_t cutap_gpu_name(const char *name, uint32_t length) {
    (void)name, (void)length;
    return __atomic_add_fetch(&names, 1, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void report(void) {
    fprintf(stderr, "rows:");
    for (int kind = 0; kind < KINDS; kind++)
        if (counts[kind]) fprintf(stderr, " %d: %lu", FIRST_KIND + kind, counts[kind]);
    fprintf(stderr, ", with bad times: %lu, names: %u\n", bad_times, names);
    if (file) fclose(file);
}
