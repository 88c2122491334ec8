/* libcuda.so.1 for hidden.c and hidden_others.c: export tables, good and bad. A wrong word that were replaced or followed would end
 * the program. For hidden_others.c it is libnvidia-ml.so.1 too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int Function(long, long, long, long, long, long, long);
static int first(long a, long b, long c, long d, long e, long f, long g) { return (int)(a + b + c + d + e + f + g); }
static int second(long a, long b, long c, long d, long e, long f, long g) { return (int)(a - g); }

#define BYTES(words) ((void *)(8 * (words)))
static void *good[] = {BYTES(4), first, second, NULL};
static void *damaged[] = {(void *)25, first, second};
static void *huge[] = {(void *)0x7ffffff8, first, second};
static void *foreign[] = {BYTES(3), first, puts};
static void *unsized[] = {first, second};
/* Calls its argument, as functions that visit something do. */
static int each(int (*visit)(void)) { return visit(); }
static void *visits[] = {BYTES(2), each};
/* Only a profiler requests this one. */
static void *alone[] = {BYTES(3), first, second};
/* Of 21318c60 and c693336e more words are known than these have: what comes behind is no function. */
static void *shorter[] = {BYTES(3), first, second, "no function"};
static void *storage[] = {first, second, "no function"};
/* A page of this library that cannot be made writable. */
static _Alignas(4096) char protected_page[4096];

static void protect(void) {
    void *words[] = {BYTES(3), first, second};
    int file = memfd_create("table", MFD_ALLOW_SEALING);
    char name[64];
    if (write(file, words, sizeof words) != sizeof words || ftruncate(file, 4096)) _exit(90);
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    if (mmap(protected_page, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, open(name, O_RDONLY), 0) == MAP_FAILED) _exit(91);
}

int cuInit(unsigned flags) { return flags != 0; }

int cuGetExportTable(const void **table, const unsigned char *uuid) {
    static const unsigned char stream_id[] = {0x21, 0x31, 0x8c, 0x60}, local[] = {0xc6, 0x93, 0x33, 0x6e};
    *table = NULL;
    if (!memcmp(uuid, stream_id, 4)) *table = shorter;
    else if (!memcmp(uuid, local, 4)) *table = storage;
    else switch (uuid[0]) {
        case 0x10: *table = good; break;
        case 0x11: *table = damaged; break;
        case 0x12: *table = huge; break;
        case 0x13: *table = foreign; break;
        case 0x14: *table = unsized; break;
        case 0x15: if (!*(void **)protected_page) protect(); *table = protected_page; break;
        case 0x16: *table = (char *)good + 4; break;
        case 0x17: *table = visits; break;
        case 0x18: *table = alone; break;
    }
    return *table ? 0 : 1;
}

/* Whether the first function of the good table is the one that it was built with. */
int cuTableIsOriginal(void) { return good[1] == (void *)first; }

void *cuFirstOfAlone(void) { return (void *)first; }

int nvmlInternalGetExportTable(const void **table, const unsigned char *uuid) { return cuGetExportTable(table, uuid); }
