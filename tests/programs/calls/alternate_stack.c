/* A storm of SIGALRM on an alternate stack that lies above the interrupted frames: nothing can be said of calls by comparing such
 * addresses. No call may be lost, none may be given up. */
//: exe alternate_stack -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/time.h>

static volatile int handled;

static void handler(int s) {
    int saved = errno;
    CUdeviceptr p;
    (void)s;
    CHECK(cuMemAlloc_v2(&p, 0) == 1);
    handled = handled + 1;
    errno = saved;
}
int main(void) {
    char above[1 << 16]; /* in main's own frame, so above all others */
    stack_t other = {.ss_sp = above, .ss_size = sizeof above};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    CHECK(sigaltstack(&other, 0) == 0 && sigaction(SIGALRM, &action, 0) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, 0) == 0);
    for (int i = 0, v; i < 300000; i++) CHECK(cuDriverGetVersion(&v) == 0);
    CHECK(setitimer(ITIMER_REAL, &never, 0) == 0);
    puts("ok");
}
