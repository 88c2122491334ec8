/* Children by vfork that call before they end, exec or are killed, on several threads at once, and one in the middle of a call of its parent:
 * each one's calls are its own, the parent's open call and its later ones are as if there had been no child. What goes wrong: the child writes
 * into its parent's ring, leaves a call open there, or a thread is taken for one that is inside a hook. */
//: exe vforks -Wno-deprecated-declarations -Wl,-z,lazy -l:libcuda.so.1 -pthread
#include "fixture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, CHILDREN = 6, CALLS = 30 };

static void dies(void *unused) {
    (void)unused;
    kill(getpid(), SIGKILL);
}
/* In the child; on a stack that its parent shares. */
static void calls(int how) {
    static _Thread_local int n;
    for (n = 0; n < CALLS; n++) CHECK(cuMemFree_v2(n + 1) == 0);
    if (how == 1) execl("/bin/true", "true", (char *)0);
    if (how == 2) cuFixtureCall(dies, 0);
    _exit(0);
}
__attribute__((noinline)) static void child(int how) {
    static _Thread_local int status;
    static _Thread_local volatile pid_t pid;
    pid = vfork();
    if (pid == 0) calls(how);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(how == 2 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
static void *thread(void *unused) {
    int v;
    for (int n = 0; n < CHILDREN; n++) {
        child(n % 3);
        CHECK(cuDriverGetVersion(&v) == 0);
    }
    return unused;
}
static void inside(void *unused) {
    (void)unused;
    child(2);
    CHECK(cuStreamSynchronize(0) == 0);
}

int main(void) {
    pthread_t threads[THREADS];
    child(0);
    CHECK(cuInit(0) == 0 && cuFixtureCall(inside, 0) == 0);
    for (int n = 0; n < THREADS; n++) pthread_create(&threads[n], 0, thread, 0);
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], 0);
    CHECK(cuInit(0) == 0);
    CHECK(fixture_count("cuMemFree_v2") == (THREADS * CHILDREN + 2) * CALLS);
    puts("ok");
}
