/* libcufile of the 12.x wheels, with NVIDIA's runtime 11.1 inside, which asks dlsym for every driver function by name.
 * Usage: cufile libcufile.so.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct { int error, driver; } Result;

/* libcufile reads /proc/modules until its end, which never comes where there is no such file */
FILE *fopen(const char *path, const char *mode) {
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
    return real(strcmp(path, "/proc/modules") ? path : "/dev/null", mode);
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

int main(int argc, char **argv) {
    void *lib = dlopen(argv[argc - 1], RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    Result (*open)(void) = dlsym(lib, "cuFileDriverOpen");
    Result (*enlist)(void *, size_t, int) = dlsym(lib, "cuFileBufRegister");
    Result (*delist)(void *) = dlsym(lib, "cuFileBufDeregister");
    Result (*close)(void) = dlsym(lib, "cuFileDriverClose");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    Result opened = open();
    printf("open %d %d\n", opened.error, opened.driver);
    if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) { puts("libcufile did not load libcuda"); return 1; }
    int (*retain)(void **, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*set)(void *) = dlsym(driver, "cuCtxSetCurrent");
    int (*allocate)(void **, size_t) = dlsym(driver, "cuMemAlloc_v2");
    void *context, *memory;
    if (retain(&context, 0) || set(context) || allocate(&memory, 1 << 20)) { puts("no memory"); return 1; }
    Result enlisted = enlist(memory, 1 << 20, 0);
    Result delisted = delist(memory);
    Result closed = close();
    printf("buffer %d %d, %d %d; close %d %d\n", enlisted.error, enlisted.driver, delisted.error, delisted.driver,
           closed.error, closed.driver);
    return 0;
}
