/* A signal handler that calls CUDA and then jumps out of the CUDA call that it interrupted, 200 times over. */
//: exe signal_jump -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

enum { JUMPS = 200 };
static int waiting;
static sigjmp_buf out;

static void handler(int s) {
    int v;
    (void)s;
    CHECK(cuDriverGetVersion(&v) == 0);
    siglongjmp(out, 1);
}
static void *sends(void *to) {
    for (int i = 1; i <= JUMPS; i++) {
        while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < i) {}
        for (volatile int wait = i * 10; wait > 0; wait--) {}
        CHECK(pthread_kill(*(pthread_t *)to, SIGALRM) == 0);
    }
    return 0;
}
int main(void) {
    pthread_t me = pthread_self(), t;
    CHECK(signal(SIGALRM, handler) != SIG_ERR);
    CHECK(cuStreamSynchronize(0) == 0); /* binds it, outside of what is interrupted */
    CHECK(pthread_create(&t, 0, sends, &me) == 0);
    for (volatile int i = 1; i <= JUMPS; i++) {
        if (sigsetjmp(out, 1)) continue;
        __atomic_store_n(&waiting, i, __ATOMIC_RELEASE);
        for (;;) CHECK(cuStreamSynchronize(0) == 0);
    }
    CHECK(pthread_join(t, 0) == 0 && cuInit(0) == 0);
    CHECK(fixture_count("cuDriverGetVersion") == JUMPS);
    puts("ok");
}
