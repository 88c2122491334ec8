/* A real-time thread calls beside an ordinary one that has the same processor. A lock of cutap's that the ordinary thread holds must be
 * given up at once: one that only yields waits until the kernel takes the processor from real-time threads, a second later. */
//: exe real_time -l:libcuda.so.1 -pthread
#include "fixture.h"
#include <pthread.h>
#include <sched.h>
#include <time.h>

static volatile int stop;

static void *ordinary(void *unused) {
    while (!stop) cuMemFree_v2(1);
    return unused;
}
static void *urgent(void *worst) {
    for (int turn = 0; turn < 200; turn++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < 5; i++) cuMemFree_v2(1);
        clock_gettime(CLOCK_MONOTONIC, &to);
        long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
        if (ms > *(long *)worst) *(long *)worst = ms;
        usleep(1000);
    }
    return 0;
}
int main(void) {
    cpu_set_t one;
    long worst = 0;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    pthread_t first, second;
    pthread_attr_t how;
    struct sched_param priority = {10};
    pthread_attr_init(&how), pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&how, SCHED_FIFO), pthread_attr_setschedparam(&how, &priority);
    CHECK(pthread_create(&first, 0, ordinary, 0) == 0);
    if (pthread_create(&second, &how, urgent, &worst)) return puts("no real-time threads here"), 77;
    CHECK(pthread_join(second, 0) == 0);
    stop = 1;
    CHECK(pthread_join(first, 0) == 0);
    if (worst > 700) printf("a call took %ld ms\n", worst);
    puts("ok");
}
