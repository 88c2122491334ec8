/* A profiler as CUPTI is since 13: there from the start, and silent until it is used; then it asks the driver for a table of its own.
 * Built as libcupti.so.12. It is used at the program's first `system`, behind the command. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int system(const char *command) {
    static const unsigned char table_id[16] = {0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42, 0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed, 0x7f};
    int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "system");
    int (*ask)(void **, const unsigned char *) =
        (int (*)(void **, const unsigned char *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetExportTable");
    void *table = NULL;
    int result = run(command);
    if (ask) ask(&table, table_id);
    return result;
}
