/* One reaction to a failed call after the other, each at a function of its own. A reaction that `cutap chaos` mistakes for
   another one would be a wrong finding in CI. Uses the driver alone, by dlsym: no header, no library. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int F();
#define CALL(name) ((F *)dlsym(library, #name))

/* An error ends the program with its own exit code. */
static void need(int error) {
    if (error) exit(3);
}

int main(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 2;
    uintptr_t context, memory = 0, pitched = 0, managed = 0, host = 0, stream = 0, event = 0;
    unsigned char bytes[64] = {0};
    size_t pitch;
    need(CALL(cuInit)(0));
    need(CALL(cuDevicePrimaryCtxRetain)(&context, 0));
    need(CALL(cuCtxSetCurrent)(context));
    need(CALL(cuMemAlloc_v2)(&memory, (size_t)4096));

    /* Tried again: handled. */
    if (CALL(cuMemAllocPitch_v2)(&pitched, &pitch, (size_t)64, (size_t)8, 4))
        need(CALL(cuMemAllocPitch_v2)(&pitched, &pitch, (size_t)64, (size_t)8, 4));
    need(CALL(cuMemFree_v2)(pitched));

    /* Not looked at: ignored. */
    CALL(cuCtxSetLimit)(0, (size_t)2048);

    /* Used all the same: a crash. */
    CALL(cuMemHostAlloc)(&host, (size_t)64, 0);
    *(volatile char *)host = 1;
    need(CALL(cuMemFreeHost)(host));

    /* An assertion: a crash, too. */
    if (CALL(cuStreamCreate)(&stream, 0)) abort();

    /* Waits for what will never be: a hang. */
    while (CALL(cuEventCreate)(&event, 0)) pause();

    /* Another way: handled. */
    if (CALL(cuStreamSynchronize)(stream)) need(CALL(cuStreamQuery)(stream));

    /* What it owns is forgotten: a leak. */
    uintptr_t more = 0;
    need(CALL(cuMemAllocHost_v2)(&more, (size_t)64));
    if (!CALL(cuMemAllocManaged)(&managed, (size_t)4096, 1)) {
        need(CALL(cuMemFree_v2)(managed));
        need(CALL(cuMemFreeHost)(more));
    }

    /* A result that was not copied: another output. */
    need(CALL(cuMemsetD8_v2)(memory, 7, (size_t)64));
    CALL(cuMemcpyDtoH_v2)(bytes, memory, (size_t)64);
    printf("%d\n", bytes[63]);

    /* A line that is missing: another output. */
    if (!CALL(cuEventRecord)(event, stream)) printf("recorded\n");

    /* Never so often: not stable. */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (long n = now.tv_nsec / 1000 % 991; n >= 0; n--) CALL(cuCtxGetFlags)(&(unsigned){0});

    need(CALL(cuEventDestroy_v2)(event));
    need(CALL(cuStreamDestroy_v2)(stream));
    need(CALL(cuMemFree_v2)(memory));
    return 0;
}
