/* A storm of SIGALRM whose handler calls CUDA, also in the middle of a CUDA call; once on the thread's stack and once on another.
 * No record may be torn or lost. Another thread sends them, because timers are too slow on some machines. */
//: exe signal_storm -DFLAGS=SA_RESTART -l:libcuda.so.1
//: exe signal_stack -DFLAGS=SA_RESTART|SA_ONSTACK -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>
#include <signal.h>

enum { SIGNALS = 5000 };
static int handled;

static void handler(int s) {
    int saved = errno, v;
    (void)s;
    CHECK(cuDriverGetVersion(&v) == 0 && v == 12090);
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELEASE);
    errno = saved;
}
static void *sends(void *to) {
    for (int i = 0; i < SIGNALS; i++) {
        while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) < i) {}
        for (volatile int wait = i % 97; wait > 0; wait--) {}
        CHECK(pthread_kill(*(pthread_t *)to, SIGALRM) == 0);
    }
    return 0;
}
int main(void) {
    stack_t other = {.ss_sp = malloc(1 << 18), .ss_size = 1 << 18};
    pthread_t me = pthread_self(), t;
    CHECK(sigaltstack(&other, 0) == 0);
    CHECK(sigaction(SIGALRM, &(struct sigaction){.sa_handler = handler, .sa_flags = FLAGS}, 0) == 0);
    CHECK(pthread_create(&t, 0, sends, &me) == 0);
    long calls = 0;
    CUdeviceptr p;
    for (; __atomic_load_n(&handled, __ATOMIC_ACQUIRE) < SIGNALS; calls++) CHECK(cuMemAlloc_v2(&p, 64) == 0 && p == 0x10000);
    CHECK(pthread_join(t, 0) == 0);
    CHECK(fixture_count("cuMemAlloc_v2") == calls && fixture_count("cuDriverGetVersion") == SIGNALS);
    puts("ok");
}
