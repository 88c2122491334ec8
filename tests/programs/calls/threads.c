/* Many threads that start at once in their first call, and then more threads than there are rings to keep. */
//: exe threads_at_once -DTHREADS=64 -DROUNDS=1 -DCALLS=500 -Wl,-z,lazy -l:libcuda.so.1
//: exe threads_in_turn -DTHREADS=8 -DROUNDS=250 -DCALLS=2 -Wl,-z,lazy -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

static pthread_barrier_t start;
static void *thread(void *unused) {
    CUdeviceptr p;
    int v;
    pthread_barrier_wait(&start);
    CHECK(cuInit(0) == 0);
    for (int i = 0; i < CALLS; i++) CHECK(cuDriverGetVersion(&v) == 0 && cuMemAlloc_v2(&p, 0) == 1);
    return unused;
}
int main(void) {
    pthread_t t[THREADS];
    for (int r = 0; r < ROUNDS; r++) {
        pthread_barrier_init(&start, 0, THREADS);
        for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&t[i], 0, thread, 0) == 0);
        for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
        pthread_barrier_destroy(&start);
    }
    CHECK(fixture_count("cuInit") == THREADS * ROUNDS && fixture_count("cuDriverGetVersion") == THREADS * ROUNDS * CALLS);
    puts("ok");
}
