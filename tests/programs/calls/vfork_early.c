/* Children by vfork whose parent has not been noticed yet, that may open no file, or while whose parent a signal waits. What goes wrong: the
 * child makes itself known in its parent's memory, its failure is the parent's for ever, a handler's calls are the child's. */
//: exe vfork_early -Wno-deprecated-declarations -Wl,-z,lazy -l:libcuda.so.1 -pthread
#include "fixture.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int armed;
static volatile pid_t pid;
static int v, n;

static void handler(int number) {
    (void)number;
    if (armed) armed = 0, siglongjmp(back, 1);
}

/* Forked, and its first call is its child's; then many of its own, as two of them do at once. */
static void worker(int number) {
    pid = vfork();
    if (pid == 0) {
        CHECK(cuMemFree_v2(1) == 0);
        _exit(0);
    }
    CHECK(waitpid(pid, 0, 0) == pid);
    for (int i = 0; i < 200; i++) CHECK(cuMemFree_v2(100 + number) == 0);
    _exit(0);
}

int main(void) {
    static struct rlimit none = {0, 0};
    /* The first call of all is one of a child that may open no file. */
    pid = vfork();
    if (pid == 0) {
        setrlimit(RLIMIT_NOFILE, &none);
        for (int i = 0; i < 3; i++) cuStreamSynchronize(0);
        _exit(0);
    }
    CHECK(waitpid(pid, 0, 0) == pid);
    CHECK(cuInit(0) == 0);
    for (n = 0; n < 2; n++)
        if (fork() == 0) worker(n);
    while (wait(0) > 0) {}
    static pid_t me;
    me = getpid();
    signal(SIGUSR1, handler);
    for (n = 0; n < 3; n++) {
        if (sigsetjmp(back, 1) == 0) {
            armed = 1;
            pid = vfork();
            if (pid == 0) {
                CHECK(cuMemFree_v2(1) == 0);
                kill(me, SIGUSR1);
                _exit(0);
            }
        }
        while (wait(0) > 0) {}
        CHECK(cuDriverGetVersion(&v) == 0);
    }
    puts("ok");
}
