/* What was ordered from the kernel before the program's start: the timers, what remains of each in hundreds of seconds and how often it
 * comes, an alarm that came and is blocked, and the signal at the parent's death. */
//: exe orders -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>

int main(void) {
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        struct itimerval t;
        CHECK(getitimer(which, &t) == 0);
        printf("%ld %ld\n", (t.it_value.tv_sec + 50) / 100, t.it_interval.tv_sec);
    }
    sigset_t pending;
    int death;
    CHECK(sigpending(&pending) == 0 && prctl(PR_GET_PDEATHSIG, &death) == 0);
    printf("%d %d\n", sigismember(&pending, SIGALRM), death);
    CHECK(cuInit(0) == 0);
    puts("ok");
}
