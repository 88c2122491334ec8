/* A thread that called before a filter ends the process for a system call that its growing ring needs, and threads that call only
 * after it. Each call is recorded, or counted as missing. With an argument: the filter is not put in by the C library, and lies. */
//: exe filter_growth -l:libcuda.so.1 -pthread
#define _GNU_SOURCE
#include "fixture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void *calls(void *times) {
    for (long v = 0, i = 0; i < (long)times; i++) CHECK(cuDriverGetVersion((int *)&v) == 0);
    return 0;
}
static long raw(long number, long a, long b, long c) {
    long result = number;
    __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
int main(int count, char **words) {
    (void)words;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, count > 1 ? SYS_fallocate : SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, count > 1 ? SECCOMP_RET_ERRNO : SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    /* One that fails changes nothing. */
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){0, filter}) == -1 && errno == EINVAL);
    calls((void *)5000);
    if (count > 1) CHECK(raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program) == 0);
    else CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    calls((void *)45000);
    pthread_t threads[20];
    for (int n = 0; n < 20; n++) CHECK(pthread_create(threads + n, 0, calls, (void *)100) == 0);
    for (int n = 0; n < 20; n++) CHECK(pthread_join(threads[n], 0) == 0);
    puts("ok");
}
