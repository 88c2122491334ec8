/* A profiler as far as export tables go, built as libcupti.so.13: it requests a table that the program requests too, and one that
 * nobody else requests, and calls the first function of each. */
#include <stddef.h>

typedef int Function(long, long, long, long, long, long, long);

/* What its own table has as first function; NULL where a call went wrong. */
void *profile(int (*ask)(void ***, const unsigned char *), const unsigned char *shared, const unsigned char *own) {
    void **table;
    if (ask(&table, shared) || ((Function *)table[1])(1, 2, 3, 4, 5, 6, 7) != 28) return NULL;
    if (ask(&table, own) || ((Function *)table[1])(1, 2, 3, 4, 5, 6, 7) != 28) return NULL;
    return table[1];
}
