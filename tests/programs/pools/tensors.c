/* The same pool without Python: blocks of two threads on two devices. Prints what the pool says. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

uintptr_t pool_malloc(size_t, int);
void pool_free(uintptr_t, int);
size_t pool_peak(int), pool_reserved(int);
long pool_sum(long), c10_told(void), c10_bytes(void);

static void *context;
static int (*set_current)(void *);

static void *work(void *of) {
    int device = (int)(intptr_t)of;
    uintptr_t blocks[8] = {0};
    if (set_current(context)) return 0;
    for (int n = 0; n < 2000; n++) {
        if (blocks[n % 8]) pool_free(blocks[n % 8], device);
        blocks[n % 8] = pool_malloc((size_t)(n % 13) * 1000 + 1, device);
    }
    return 0;
}

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 1;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*create)(void **, unsigned, int) = (int (*)(void **, unsigned, int))dlsym(driver, "cuCtxCreate_v2");
    set_current = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    if (!set_current || !init || !create || init(0) || create(&context, 0, 0)) return 1;
    pthread_t threads[4];
    for (int n = 0; n < 4; n++) pthread_create(&threads[n], 0, work, (void *)(intptr_t)(n % 2));
    for (int n = 0; n < 4; n++) pthread_join(threads[n], 0);
    printf("{\"peak\": [%zu, %zu], \"told\": %ld, \"live\": %ld, \"sum\": %ld}\n", pool_peak(0), pool_peak(1), c10_told(),
           c10_bytes(), pool_sum(5));
    return 0;
}
