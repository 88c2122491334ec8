/* Export tables of hidden_driver.c that others than a runtime request: a function that calls back into the driver, a profiler
 * (hidden_profiler.c) beside the program, and NVML. Usage: hidden_others nested|profiler|nvml */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Function(long, long, long, long, long, long, long);
typedef int Ask(void ***, const unsigned char *);
#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static const unsigned char good[16] = {0x10}, alone[16] = {0x18}, nested[16] = {0x17};
static int (*init)(unsigned);
static int visit(void) { return init(0); }

static void *symbol(const char *library, const char *name) {
    void *opened = dlopen(library, RTLD_NOW);
    void *found = opened ? dlsym(opened, name) : NULL;
    CHECK(found);
    return found;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "nested";
    void **table;
    if (!strcmp(mode, "nvml")) {
        Ask *ask = (Ask *)symbol("libnvidia-ml.so.1", "nvmlInternalGetExportTable");
        CHECK(!ask(&table, good) && ((Function *)table[1])(1, 2, 3, 4, 5, 6, 7) == 28);
        CHECK(!ask(&table, (const unsigned char[16]){0x14}) && ((Function *)table[0])(1, 2, 3, 4, 5, 6, 7) == 28);
        return puts("ok") < 0;
    }
    Ask *ask = (Ask *)symbol("libcuda.so.1", "cuGetExportTable");
    if (!strcmp(mode, "nested")) {
        init = (int (*)(unsigned))symbol("libcuda.so.1", "cuInit");
        CHECK(!ask(&table, nested) && ((int (*)(int (*)(void)))table[1])(visit) == 0);
        return puts("ok") < 0;
    }
    void *(*profile)(Ask *, const unsigned char *, const unsigned char *) = symbol("libcupti.so.13", "profile");
    CHECK(!ask(&table, good) && ((Function *)table[1])(1, 2, 3, 4, 5, 6, 7) == 28);
    void *original = ((void *(*)(void))symbol("libcuda.so.1", "cuFirstOfAlone"))();
    CHECK(profile(ask, good, alone) == original);
    return puts("ok") < 0;
}
