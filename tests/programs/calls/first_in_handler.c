/* Programs whose first calls of two functions, by words that are not bound yet, come from a signal handler and from what it interrupts.
 * Binding must allocate nothing that the loader's own binding would not: the handler may stand in an allocation, the program's first. */
//: exe first_in_handler -Wl,-z,lazy -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static void handler(int s) {
    int saved = errno;
    CUdeviceptr p;
    (void)s;
    CHECK(cuMemAlloc_v2(&p, 0) == 1);
    errno = saved;
}

int main(int argc, char **argv) {
    if (argc == 2) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
        struct itimerval often = {{0, 100}, {0, atoi(argv[1])}}, never = {{0, 0}, {0, 0}};
        CHECK(sigaction(SIGALRM, &action, 0) == 0 && setitimer(ITIMER_REAL, &often, 0) == 0);
        for (int i = 0, v; i < 100; i++) CHECK(cuDriverGetVersion(&v) == 0);
        CHECK(setitimer(ITIMER_REAL, &never, 0) == 0);
        _exit(0);
    }
    for (int n = 0; n < 200; n++) {
        char after[16];
        snprintf(after, sizeof after, "%d", 50 + n % 100);
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], after, NULL);
            _exit(127);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    puts("ok");
}
