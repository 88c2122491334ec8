/* Calls of the driver, and what they return. A rule that acts on other calls than those it names, or an error that is
   unlike a real one, shows here. Uses the driver alone, by dlsym: no header, no library. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int F();
#define CALL(name) ((F *)dlsym(library, #name))
static void *library;
static uintptr_t context, kernel;

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry first() { ret; }\n";

static int allocated(size_t bytes) {
    uintptr_t memory = 0;
    return CALL(cuMemAlloc_v2)(&memory, bytes);
}

static int launched(void) {
    return CALL(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, (uintptr_t)0, (uintptr_t)0, (uintptr_t)0);
}

static void *allocates(void *unused) {
    CALL(cuCtxSetCurrent)(context);
    int (*call)() = CALL(cuMemAlloc_v2), (*end)() = CALL(cuMemFree_v2);
    for (int n = 0; !unused || !access((char *)unused, F_OK); n++) {
        uintptr_t memory = 0;
        size_t bytes = n % 2 ? 4096 : 8192;
        int error = call(&memory, bytes), other = n % 2 ? 11 : 22;
        if (error == other || (error && error != 11 && error != 22)) {
            printf("%zu bytes: %d\n", bytes, error);
            exit(1);
        }
        if (!error) end(memory);
        if (n % 64 == 0) usleep(100);
    }
    return NULL;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library || CALL(cuInit)(0) || CALL(cuDevicePrimaryCtxRetain)(&context, 0) || CALL(cuCtxSetCurrent)(context))
        return 2;
    uintptr_t module = 0, memory = 0;
    static char host[4 << 20];
    if (!strcmp(mode, "allocations")) {
        for (int n = 0; n < 5; n++) {
            printf("%d", allocated(1 << 20));
            printf(" %d\n", allocated(2 << 20));
        }
    } else if (!strcmp(mode, "launches") || !strcmp(mode, "dead")) {
        if (CALL(cuModuleLoadData)(&module, ptx) || CALL(cuModuleGetFunction)(&kernel, module, "first")) return 2;
        int launches = *mode == 'l' ? 250 : 12;
        for (int n = 1, error; n <= launches; n++)
            if ((error = launched())) printf("launch %d: %d\n", n, error);
        printf("wait %d\n", CALL(cuCtxSynchronize)());
        printf("wait %d", CALL(cuCtxSynchronize)());
        printf(", allocate %d", allocated(64));
        printf(", launch %d\n", launched());
        printf("reset %d", CALL(cuDevicePrimaryCtxReset_v2)(0));
        printf(", retain %d", CALL(cuDevicePrimaryCtxRetain)(&context, 0));
        printf(", use %d", CALL(cuCtxSetCurrent)(context));
        printf(", allocate %d\n", allocated(64));
    } else if (!strcmp(mode, "copies")) {
        if (CALL(cuMemAlloc_v2)(&memory, sizeof host)) return 2;
        printf("%d\n", CALL(cuMemcpyHtoD_v2)(memory, host, sizeof host));
        printf("%d\n", CALL(cuMemcpyDtoH_v2)(host, memory, sizeof host));
    } else if (!strcmp(mode, "waits")) {
        int error = 0, n = 0;
        while (n < 1000 && !error) n++, error = CALL(cuCtxSynchronize)();
        printf("%s: %d, then %d\n", n < 1000 ? "failed" : "did not fail", error, allocated(64));
    } else if (!strcmp(mode, "threads")) {
        /* Until the file is gone. */
        pthread_t threads[4];
        for (int n = 0; n < 4; n++) pthread_create(&threads[n], NULL, allocates, argv[2]);
        printf("%d\n", getpid());
        fflush(stdout);
        for (int n = 0; n < 4; n++) pthread_join(threads[n], NULL);
        printf("ok\n");
    } else if (!strcmp(mode, "collectives")) {
        void *nccl = dlopen("libnccl.so.2", RTLD_NOW);
        if (!nccl) return 2;
        int (*reduce)() = (F *)dlsym(nccl, "ncclAllReduce");
        printf("%d\n", getpid());
        fflush(stdout);
        for (int n = 1; n <= 4; n++) {
            int error = reduce(host, host, (size_t)8, 7, 0, (uintptr_t)0, (uintptr_t)0);
            printf("reduced %d: %d\n", n, error);
            fflush(stdout);
        }
    }
    return 0;
}
