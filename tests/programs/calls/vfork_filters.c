/* A child by vfork that installs a seccomp filter, in its parent's memory: the filter ends it for a system call that cutap makes around
 * calls, exec, vfork, fork and look-ups. How far it comes must not depend on cutap. Its parent has no filter, and goes on as before. */
//: exe vfork_filters -Wno-deprecated-declarations -Wl,-z,lazy -l:libcuda.so.1 -pthread
#define _GNU_SOURCE
#include "fixture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What cutap makes (crates/preload/src/sys/used.rs), but what the child needs itself. */
static const short used[] = {0, 1, 3, 9, 10, 11, 14, 24, 25, 27, 28, 35, 39, 72, 83, 87, 88, 89, 90, 110, 131, 138, 186, 202, 228,
    234, 257, 262, 273, 274, 285, 302, 310, 311, -1};
enum { USED = sizeof used / sizeof *used, WAYS = 8 };
extern char **environ;
static char *own[] = {"LD_PRELOAD=/nonexistent/list.so", 0, 0}, *args[] = {"x", 0};

static void install(short number) {
    struct sock_filter one[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, one};
    if (number < 0) CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
    else CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}
static void end_of(pid_t pid, int expected) {
    int status;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == expected);
}
static void act(int way) {
    pid_t pid;
    if (way == 1) for (int n = 0; n < 3000; n++) CHECK(cuMemFree_v2(n + 1) == 0);
    if (way == 2) CHECK(execve("/nonexistent", args, environ) == -1 && errno == ENOENT);
    if (way == 3) CHECK(execve("/nonexistent", args, own) == -1 && errno == ENOENT);
    if (way == 4) CHECK(execl("/nonexistent", "x", (char *)0) == -1 && errno == ENOENT);
    if (way == 5) { if ((pid = vfork()) == 0) cuMemFree_v2(1), _exit(3); end_of(pid, 3); }
    if (way == 6) { if ((pid = fork()) == 0) _exit(4); end_of(pid, 4); }
    if (way == 7) { CUresult (*f)(int) = dlsym(RTLD_DEFAULT, "cuInit"); CHECK(f && f(0) == 0); }
}
/* `first`: it has a ring already, if it may. */
static void child(int number, int way, int first) {
    volatile pid_t pid;
    int status;
    if ((pid = vfork()) == 0) {
        if (first) cuMemFree_v2(2);
        install(number), act(way), _exit(7);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    printf("%d, %d, %d: end %#x\n", number, way, first, status & 0xff7f);
}
static void *other(void *unused) {
    for (int v, n = 0; n < 5000; n++) CHECK(cuDriverGetVersion(&v) == 0);
    return unused;
}
int main(void) {
    for (char **e = environ; *e; e++) if (!strncmp(*e, "CUTAP_RUN=", 10)) own[1] = *e;
    child(39, 1, 0);
    CHECK(cuInit(0) == 0);
    for (int n = 0; n < USED * WAYS * 2; n++) child(used[n % USED], n / USED % WAYS, n / USED / WAYS);
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, other, 0) == 0 && pthread_join(thread, 0) == 0);
    other(0);
    printf("%lu\nok\n", fixture_count("cuMemFree_v2"));
}
