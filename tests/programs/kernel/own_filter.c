// A program whose own seccomp filter asks for a tracer (SECCOMP_RET_TRACE). There is none, so these calls fail with
// ENOSYS; under a tracer with a filter too.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void refuse(unsigned number, unsigned value)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | value),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) perror("prctl");
}

static void report(const char *what, long result)
{
    printf("%s: %d %d\n", what, result < 0 ? -1 : 0, result < 0 ? errno : 0);
}

int main(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    refuse(SYS_mkdir, 0);
    refuse(SYS_getppid, 0xffff);
    report("mkdir", syscall(SYS_mkdir, "/nonexistent/a", 0700));
    report("getppid", syscall(SYS_getppid));
    report("open", syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY));
    // Calls that the tracer's filter stops too.
    refuse(SYS_dup, 0);
    refuse(SYS_openat, 7);
    report("dup", syscall(SYS_dup, 1));
    report("open", syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY));
    report("close", syscall(SYS_close, 0));
    puts("ok");
    return 0;
}
