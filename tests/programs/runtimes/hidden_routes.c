/* Requests an export table by one route, and calls a function in it: no runtime requests this table, so only that route shows it.
 * Usage: hidden_routes link|dlsym|cuGetProcAddress|cudaGetExportTable */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int Ask(const void **, const void *);
int cuInit(unsigned);
int cuGetExportTable(const void **, const void *);
int cuGetProcAddress(const char *, void **, int, uint64_t);
int cudaGetExportTable(const void **, const void *);

int main(int argc, char **argv) {
    static const unsigned char clusters[16] = {0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45,
                                               0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b, 0xca};
    const char *route = argc > 1 ? argv[1] : "link";
    const void *table = NULL;
    void *found = (void *)cuGetExportTable;
    if (!strcmp(route, "dlsym")) found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetExportTable");
    else if (!strcmp(route, "cuGetProcAddress") && cuGetProcAddress("cuGetExportTable", &found, 11030, 0)) return 2;
    else if (!strcmp(route, "cudaGetExportTable")) found = (void *)cudaGetExportTable;
    if (cuInit(0) || ((Ask *)found)(&table, clusters) || !table) return 3;
    const uint8_t *cluster = NULL, *place = NULL;
    for (int n = 0; n < 3; n++)
        if (((int (*)(const uint8_t **, const uint8_t **))((void **)table)[4])(&cluster, &place) || !cluster) return 4;
    puts(route);
    return 0;
}
