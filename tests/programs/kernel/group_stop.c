// A child stops itself. Its parent sees the stop, the child stays stopped, and SIGCONT continues it. A tracer that
// resumes a stopped thread breaks job control.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int status;
    for (int n = 0; n < 5; n++) {
        int signal = n % 2 ? SIGTSTP : SIGSTOP;
        int seen[2];
        if (pipe(seen)) return 1;
        pid_t child = fork();
        if (child == 0) {
            setpgid(0, 0);
            close(open("/proc/self/stat", O_RDONLY));
            raise(signal);
            close(open("/proc/self/stat", O_RDONLY));
            // Its end would hide that it was continued.
            char byte;
            _exit(read(seen[0], &byte, 1) == 1 ? 7 : 8);
        }
        if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != signal)
            return puts("no stop"), 1;
        usleep(20000);
        if (waitpid(child, &status, WNOHANG | WCONTINUED) != 0) return puts("it did not stay stopped"), 1;
        kill(child, SIGCONT);
        if (waitpid(child, &status, WCONTINUED) != child || !WIFCONTINUED(status)) return puts("not continued"), 1;
        if (write(seen[1], "c", 1) != 1) return 1;
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) return puts("another end"), 1;
    }
    return puts("ok"), 0;
}
