/* The static runtime 11.1 inside libcufile of nvidia-cufile-cu12 1.14.1.1, which asks dlsym for every driver function by name.
 * What goes wrong: it is older than cuGetProcAddress, so nothing else leads to what it calls.
 * libcufile itself does not use it in what it does without a file system of NVIDIA's, so its functions are called by their
 * offsets in exactly this library (found by the names in its .rodata). Usage: inside_cufile libcufile.so.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    void *lib = dlopen(argv[argc - 1], RTLD_NOW);
    Dl_info info;
    if (!lib || !dladdr(dlsym(lib, "cuFileDriverOpen"), &info)) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    char *base = info.dli_fbase;
    int (*getDeviceCount)(int *) = (void *)(base + 0x201f30);
    int (*allocate)(void **, size_t) = (void *)(base + 0x207c40);
    int (*set)(void *, int, size_t) = (void *)(base + 0x2185e0);
    int (*release)(void *) = (void *)(base + 0x208270);
    int (*getVersion)(int *) = (void *)(base + 0x210ee0);
    int count = -1, version = -1, got;
    void *memory = NULL;
    got = getDeviceCount(&count);
    printf("count %d %d\n", got, count);
    got = getVersion(&version);
    printf("version %d %d\n", got, version);
    for (int i = 0; i < 3; i++) {
        int made = allocate(&memory, 1000), written = set(memory, 0, 1000);
        printf("%d %d %d\n", made, written, release(memory));
    }
    return 0;
}
