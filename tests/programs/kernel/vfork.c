// The parent of vfork waits until the child calls exec or exits, and both use the same memory. A tracer that resumes only
// one of them stops both.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;

int main(void)
{
    int status;
    volatile int failed = 0;
    volatile int written = 0;
    for (volatile int n = 0; n < 50; n++) {
        pid_t child = vfork();
        if (child == 0) {
            written++;
            close(open("/proc/self/stat", O_RDONLY));
            _exit(n);
        }
        failed += waitpid(child, &status, 0) != child || WEXITSTATUS(status) != n;
    }
    char *words[] = {"true", 0};
    for (int n = 0; n < 10; n++) {
        pid_t child;
        failed += posix_spawn(&child, "/bin/true", 0, 0, words, environ) || waitpid(child, &status, 0) != child || status;
    }
    return puts(failed == 0 && written == 50 ? "ok" : "a child was lost"), failed;
}
