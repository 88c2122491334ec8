/* A signal handler that makes so many calls that the ring of its thread has more chunks than are kept mapped: the call that it
 * interrupted goes on in a chunk that was the current one long ago. */
//: exe long_handler -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/time.h>

enum { CALLS = 211000, TIMES = 2 };
static volatile int times;

static void arm(void) {
    struct itimerval soon = {{0, 0}, {0, 300 + rand() % 400}};
    CHECK(setitimer(ITIMER_REAL, &soon, 0) == 0);
}
static void handler(int number) {
    int v;
    (void)number;
    for (int i = 0; i < CALLS; i++) CHECK(cuDriverGetVersion(&v) == 0 && v == 12090);
    if (++times < TIMES) arm();
}
int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    srand(getpid());
    CHECK(cuInit(0) == 0 && sigaction(SIGALRM, &action, 0) == 0);
    arm();
    while (times < TIMES) CHECK(cuMemFree_v2(1) == 0);
    puts("ok");
}
