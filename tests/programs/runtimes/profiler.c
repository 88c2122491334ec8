/* A profiler as far as the callback table goes: built as libcupti.so.13. It sets its own function into the driver's table and
 * the driver's flag of cudaMalloc, and counts what it is told. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { malloc_ = 20 };
typedef int Deliver(unsigned, const char *);
static Deliver *driver;
static unsigned seen[2], others; /* enters and exits */

static int deliver(unsigned id, const char *record) {
    unsigned phase;
    memcpy(&phase, record + 0x54, sizeof phase);
    if (id == malloc_ && phase < 2) seen[phase]++; else others++;
    return driver(id, record);
}

void **attach(int (*ask)(void ***, const unsigned char *), const unsigned char *table_id) {
    void **table;
    unsigned *flags;
    size_t length;
    if (ask(&table, table_id)) return NULL;
    ((int (*)(unsigned **, size_t *))table[2])(&flags, &length);
    driver = (Deliver *)table[1];
    table[1] = (void *)deliver;
    flags[malloc_] = 1;
    return table;
}

void report(void) { printf("the profiler saw %u, %u, and %u others\n", seen[0], seen[1], others); }
