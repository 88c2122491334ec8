// SIGKILL ends a process while its threads are inside system calls that the tracer sees, and at any other moment.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *busy(void *unused)
{
    for (;;) close(open("/proc/self/stat", O_RDONLY));
    return unused;
}

int main(void)
{
    char folder[] = "/tmp/cutap-killed-XXXXXX", fifo[64];
    int status;
    if (!mkdtemp(folder)) return 1;
    snprintf(fifo, sizeof fifo, "%s/dev", folder);
    mkfifo(fifo, 0600);
    for (int n = 0; n < 20; n++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            for (int t = 0; t < 3; t++) pthread_create(&thread, 0, busy, 0);
            // Nothing opens the other end.
            open(fifo, O_RDONLY);
            _exit(0);
        }
        usleep(500 * n);
        kill(child, SIGKILL);
        if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            return puts("another end"), 1;
    }
    unlink(fifo);
    rmdir(folder);
    return puts("ok"), 0;
}
