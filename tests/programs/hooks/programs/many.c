/* 32 threads: every other cudaMalloc is answered by a hook, and each thread has its own last error. */
#include "../../runtimes/cudart.h"
#include <pthread.h>

enum { THREADS = 32, CALLS = 200 };
static int wrong;

static void *thread(void *unused) {
    for (int i = 0; i < CALLS; i++) {
        void *p = (void *)7;
        if (cudaMalloc(&p, 13) != 2 || p != (void *)7 || cudaGetLastError() != 2 || cudaGetLastError() != 0)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        if (cudaMalloc(&p, 64) != 0 || cudaGetLastError() != 0 || cudaFree(p) != 0)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    }
    return unused;
}
int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, thread, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
    printf("wrong %d\n", wrong);
    return 0;
}
