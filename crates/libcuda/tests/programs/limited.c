/* A limit on the address space (or on the data) of the process: every allocation that is too large for it must fail at once, with
 * CUDA_ERROR_OUT_OF_MEMORY. A driver that reads "no room" as "occupied" tries each address of its window. This program's own mmap
 * counts the tries. */
#include "check.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static int calls;
void *mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset) {
    calls++;
    return (void *)syscall(SYS_mmap, at, bytes, access, flags, file, offset);
}
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

static U status(const char *field) {
    char line[200];
    U kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    TRUE(file);
    while (fgets(line, sizeof line, file)) if (!strncmp(line, field, strlen(field))) sscanf(line + strlen(field), ": %lu", &kib);
    fclose(file);
    TRUE(kib);
    return kib << 10;
}
#define FAILS(name, ...) do { calls = 0; IS(2, name, __VA_ARGS__); \
    if (calls > 4) { fprintf(stderr, "%s: %d calls of mmap\n", #name, calls); exit(1); } } while (0)

int main(int argc, char **argv) {
    int data = argc > 1 && !strcmp(argv[1], "data");
    P context, stream, more;
    U at, kept;
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    TRUE(lib);
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    OK(cuMemAlloc_v2, &kept, SIZE(4096));
    TRUE(calls > 0); /* they are counted */
    struct rlimit limit = { 0, RLIM_INFINITY };
    limit.rlim_cur = status(data ? "VmData" : "VmSize") + (64 << 20);
    TRUE(!setrlimit(data ? RLIMIT_DATA : RLIMIT_AS, &limit));
    FAILS(cuMemAlloc_v2, &at, SIZE(1 << 30));
    FAILS(cuMemAllocManaged, &at, SIZE(1 << 30), 1);
    FAILS(cuMemAllocHost_v2, &more, SIZE(1 << 30));
    FAILS(cuMemHostAlloc, &more, SIZE(1 << 30), 0);
    FAILS(cuMemAllocAsync, &at, SIZE(1 << 30), NUL);
    if (!data) { /* what nothing can be done with is no data */
        FAILS(cuMemAddressReserve, &at, SIZE(1 << 30), SIZE(0), (U)0, (U)0);
        FAILS(cuMemAddressReserve, &at, SIZE(1 << 30), SIZE(0), (U)0x300000000000, (U)0);
    }
    /* what there is room for can be had, and what was there is still there */
    OK(cuMemAlloc_v2, &at, SIZE(16 << 20));
    OK(cuMemFree_v2, at);
    OK(cuMemFree_v2, kept);
    limit.rlim_cur = RLIM_INFINITY;
    TRUE(!setrlimit(data ? RLIMIT_DATA : RLIMIT_AS, &limit));
    OK(cuMemAlloc_v2, &at, SIZE(1 << 30));
    OK(cuMemFree_v2, at);
    puts("all is well");
    return 0;
}
