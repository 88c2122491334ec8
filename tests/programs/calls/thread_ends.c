/* A thread that ends inside a traced call: by pthread_exit in a callback, by cancellation while the call sleeps, and with the process
 * when main returns. */
//: exe pthread_exit -DEXIT -fexceptions -l:libcuda.so.1
//: exe pthread_cancel -fexceptions -l:libcuda.so.1
//: exe thread_left -DLEAVE -fexceptions -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

static int inside, cleaned;
static void clean(void *unused) { (void)unused; cleaned = 1; }
static void ends(void *unused) {
    (void)unused;
    CHECK(cuMemFree_v2(1) == 0);
#ifdef EXIT
    pthread_exit((void *)5);
#else
    __atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
    cuFixtureSleep(60000);
#endif
}
static void *thread(void *unused) {
    pthread_cleanup_push(clean, 0);
    cuFixtureCall(ends, 0);
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    pthread_t t;
    __attribute__((unused)) void *result = 0;
    CHECK(cuInit(0) == 0);
    CHECK(pthread_create(&t, 0, thread, 0) == 0);
#ifndef EXIT
    while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE)) usleep(1000);
    usleep(200000); /* now it sleeps in the driver */
#endif
#ifndef LEAVE
    if (inside) CHECK(pthread_cancel(t) == 0);
    CHECK(pthread_join(t, &result) == 0 && result == (inside ? PTHREAD_CANCELED : (void *)5) && cleaned);
#endif
    puts("ok");
}
