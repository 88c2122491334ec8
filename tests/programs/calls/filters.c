/* Seccomp filters that end the process, or lie, for a system call that cutap makes: a child that has called before installs one,
 * and goes on calling, in two threads, until their rings are full several times. How far it comes must not depend on cutap. */
//: exe filters -DFIRST=0 -DTHEN=SECCOMP_RET_KILL_PROCESS -l:libcuda.so.1 -pthread
//: exe filters_that_lie -DFIRST=27 -DTHEN=SECCOMP_RET_ERRNO -l:libcuda.so.1 -pthread
#define _GNU_SOURCE
#include "fixture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What cutap makes (crates/preload/src/sys/used.rs), and what the child needs. */
static const short used[] = {0, 1, 3, 9, 10, 11, 14, 24, 25, 27, 28, 35, 39, 72, 83, 87, 88, 89, 90, 110, 131, 138, 157, 186, 202, 228,
    234, 257, 262, 273, 274, 285, 302, 310, 311, SYS_clone, SYS_wait4, SYS_exit_group};
enum { USED = sizeof used / sizeof *used, NEEDED = 3, MORE = 4 };
static volatile int *stage, began, behind, done;

static void call_often(void) {
    for (int v, i = 0; i < 2500; i++) CHECK(cuDriverGetVersion(&v) == 0 && v == 12090);
}
static void *other(void *unused) {
    for (began = 1; !behind;) ;
    call_often();
    for (done = 1;;) ; /* to end takes system calls */
    return unused;
}
/* The words of a call lie anywhere in a page of the stack. */
static void with_many_words(int depth) {
    volatile char room[200] = {1};
    CHECK(cuFutureThing_v9(room[0], 2, 3, 4, 5, 6, 7) == 0);
    if (depth) with_many_words(depth - 1);
}
/* Either `then` for one of these calls and `others` for the rest, by prctl, or by seccomp for all threads. */
static void install(const short *calls, int count, unsigned then, unsigned others, int tsync) {
    struct sock_filter filter[2 * USED + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)}, *at = filter + 1;
    for (int n = 0; n < count; n++, at += 2) {
        at[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[n], 0, 1);
        at[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, then);
    }
    *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
    struct sock_fprog program = {at - filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (tsync) CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    else CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}
static void child(int n) {
    int v, status = 0;
    void *f;
    pthread_t thread;
    CHECK(cuDriverGetVersion(&v) == 0 && pthread_create(&thread, 0, other, 0) == 0);
    while (!began) ;
    if (n < USED) install(used + n, 1, THEN, SECCOMP_RET_ALLOW, n % 2);
    else if (n < USED + 2) install(used + USED - 1, 1, SECCOMP_RET_ALLOW, THEN, n % 2);
    else install(used, USED, SECCOMP_RET_ALLOW, THEN, n % 2);
    *stage = 1, behind = 1, call_often();
    *stage = 2, with_many_words(40);
    CHECK(cuGetProcAddress_v2("cuInit", &f, 12000, 0, &status) == 0 && ((CUresult (*)(unsigned))f)(0) == 0);
    *stage = 3, f = dlsym(RTLD_DEFAULT, "cuStreamSynchronize_ptsz");
    CHECK(f && ((CUresult (*)(void *))f)(0) == 0);
    for (*stage = 4; !done;) ;
    *stage = 5;
    if (n >= USED && n < USED + 2) _exit(5);
    pid_t grandchild = fork();
    if (grandchild == 0) call_often(), _exit(6);
    *stage = 6, waitpid(grandchild, &status, 0);
    *stage = 100 + WEXITSTATUS(status), _exit(5);
}
int main(void) {
    stage = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int n = FIRST; n < USED + MORE; n++) {
        if (n == USED - NEEDED) n = USED;
        int status = *stage = 0;
        pid_t pid = fork();
        if (pid == 0) child(n);
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && *stage > 0);
        printf("%d: stage %d, end %#x\n", n < USED ? used[n] : n - USED + 1000, *stage, status & 0xff7f);
    }
    puts("ok");
}
