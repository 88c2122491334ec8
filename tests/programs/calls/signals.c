/* A storm of SIGALRM whose handler calls CUDA, also in the middle of a CUDA call; once on the thread's stack and once on another.
 * No record may be torn or lost. */
//: exe signal_storm -DFLAGS=SA_RESTART -l:libcuda.so.1
//: exe signal_stack -DFLAGS=SA_RESTART|SA_ONSTACK -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/time.h>

static int handled;
static void handler(int s) {
    int saved = errno, v;
    (void)s;
    CHECK(cuDriverGetVersion(&v) == 0 && v == 12090);
    handled++;
    errno = saved;
}
int main(void) {
    stack_t other = {.ss_sp = malloc(1 << 18), .ss_size = 1 << 18};
    CHECK(sigaltstack(&other, 0) == 0);
    CHECK(sigaction(SIGALRM, &(struct sigaction){.sa_handler = handler, .sa_flags = FLAGS}, 0) == 0);
    struct itimerval every = {{0, 100}, {0, 100}}, never = {0};
    CHECK(setitimer(ITIMER_REAL, &every, 0) == 0);
    long calls = 0;
    for (CUdeviceptr p; handled < 2000; calls++) CHECK(cuMemAlloc_v2(&p, 64) == 0 && p == 0x10000);
    CHECK(setitimer(ITIMER_REAL, &never, 0) == 0);
    CHECK(fixture_count("cuMemAlloc_v2") == calls && fixture_count("cuDriverGetVersion") == handled);
    puts("ok");
}
