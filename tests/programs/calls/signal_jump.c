/* A signal handler that calls CUDA and then jumps out of the CUDA call that it interrupted, 200 times over. */
//: exe signal_jump -l:libcuda.so.1
#include "fixture.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf out;
static void handler(int s) {
    int v;
    (void)s;
    CHECK(cuDriverGetVersion(&v) == 0);
    siglongjmp(out, 1);
}
int main(void) {
    CHECK(signal(SIGALRM, handler) != SIG_ERR);
    for (volatile int i = 0; i < 200; i++) {
        if (!sigsetjmp(out, 1)) {
            CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 200}}, 0) == 0);
            for (;;) CHECK(cuStreamSynchronize(0) == 0);
        }
    }
    CHECK(cuInit(0) == 0);
    puts("ok");
}
