// A child of clone with CLONE_UNTRACED, as crash reporters make one. It has the tracer's filter, so without a tracer
// each of its opens would fail. Neither register nor flags in memory may look changed, in parent or child.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Two words of a raw call that makes a child: its result, and the first argument as it is afterwards.
struct both { long result, first; };

static struct both raw(long number, long first, long second)
{
    struct both both = {number, first};
    register long third __asm__("r10") = 0;
    register long fourth __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "+a"(both.result), "+D"(both.first)
                     : "S"(second), "d"(0L), "r"(third), "r"(fourth)
                     : "rcx", "r11", "memory");
    return both;
}

// In memory that may not be written.
static const struct clone_args constant = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};

static int check(const char *what, struct both both, long first, const struct clone_args *args)
{
    int good = both.first == first && (!args || args->flags & CLONE_UNTRACED);
    if (both.result == 0) _exit(good && open("/proc/self/stat", O_RDONLY) >= 0 ? 4 : 9);
    int status = -1;
    if (both.result > 0) waitpid((pid_t)both.result, &status, __WALL);
    int code = both.result > 0 ? WEXITSTATUS(status) : (int)both.result;
    printf("%s: %d %s\n", what, code, good ? "unchanged" : "changed");
    return good;
}

int main(void)
{
    struct clone_args args = constant, waits = constant, wrong = constant;
    waits.flags |= CLONE_VFORK;
    wrong.flags |= CLONE_THREAD;
    long flags = CLONE_UNTRACED | SIGCHLD;
    setvbuf(stdout, 0, _IONBF, 0);
    int good = check("clone", raw(SYS_clone, flags, 0), flags, 0);
    for (int n = 0; n < 20; n++) good &= check("clone3", raw(SYS_clone3, (long)&args, sizeof args), (long)&args, &args);
    good &= check("constant", raw(SYS_clone3, (long)&constant, sizeof constant), (long)&constant, &constant);
    good &= check("vfork", raw(SYS_clone3, (long)&waits, sizeof waits), (long)&waits, &waits);
    // A call that fails.
    good &= check("wrong", raw(SYS_clone3, (long)&wrong, sizeof wrong), (long)&wrong, &wrong);
    flags |= CLONE_THREAD;
    good &= check("wrong", raw(SYS_clone, flags, 0), flags, 0);
    puts(good ? "ok" : "failed");
    return 0;
}
