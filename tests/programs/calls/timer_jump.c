/* A timer whose handler calls CUDA and jumps out of wherever it found the thread, 2000 times, most often inside cutap's code; while
 * another thread opens and closes a library that calls CUDA. A record half written must harm no later one, nothing may stay locked. */
//: exe timer_jump -l:libcuda.so.1 -lrt
#include "fixture.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>

enum { JUMPS = 2000 };
static int over, opens;
static sigjmp_buf out;

static void handler(int s) {
    (void)s;
    CHECK(cuInit(0) == 0);
    siglongjmp(out, 1);
}
static void *opener(void *unused) {
    for (; !__atomic_load_n(&over, __ATOMIC_ACQUIRE); opens++) {
        void *h = dlopen("libopened_a.so", RTLD_LAZY | RTLD_LOCAL); /* of routes/open_while_lookup.c */
        CHECK(h);
        int (*f)(void) = (int (*)(void))dlsym(h, "work");
        CHECK(f && f() == 0 && dlclose(h) == 0);
    }
    return unused;
}
int main(void) {
    pthread_t t;
    timer_t timer;
    sigset_t alarm;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    CUdeviceptr p;
    int v;
    CHECK(signal(SIGALRM, handler) != SIG_ERR && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    /* Bound before, for no program may jump out of the loader. */
    CHECK(cuInit(0) == 0 && cuDriverGetVersion(&v) == 0 && cuMemAlloc_v2(&p, 0) == 1 && cuStreamSynchronize(0) == 0);
    sigemptyset(&alarm), sigaddset(&alarm, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &alarm, 0) == 0 && pthread_create(&t, 0, opener, 0) == 0);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &alarm, 0) == 0);
    for (volatile int i = 0; i < JUMPS; i++) {
        if (sigsetjmp(out, 1)) continue;
        struct itimerspec once = {.it_value.tv_nsec = 1000 + i * 7919L % 60000};
        CHECK(timer_settime(timer, 0, &once, 0) == 0);
        for (;;) CHECK(cuDriverGetVersion(&v) == 0 && cuMemAlloc_v2(&p, 0) == 1 && cuStreamSynchronize(0) == 0);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    CHECK(pthread_join(t, 0) == 0 && fixture_count("cuInit") == JUMPS + 1 && fixture_count("cuMemFree_v2") == 2L * opens);
    puts("ok");
}
