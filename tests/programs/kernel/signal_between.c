// A signal arrives between the begin and the end of a system call that the tracer sees. Without SA_RESTART the call
// fails with EINTR, with it the call starts again; handlers run once for each signal.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static volatile sig_atomic_t caught;
static char fifo[64];
static pthread_t main_thread;

static void handler(int unused) { caught += unused > 0; }

static void *sends(void *opens)
{
    usleep(20000);
    pthread_kill(main_thread, SIGUSR1);
    usleep(20000);
    if (opens) close(open(fifo, O_WRONLY));
    return 0;
}

static int opened(int flags, int opens)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    pthread_t thread;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, sends, opens ? &main_thread : 0);
    int fd = open(fifo, O_RDONLY), error = errno;
    pthread_join(thread, 0);
    if (fd >= 0) close(fd);
    return fd >= 0 ? 0 : error;
}

int main(void)
{
    char folder[] = "/tmp/cutap-between-XXXXXX";
    main_thread = pthread_self();
    if (!mkdtemp(folder)) return 1;
    snprintf(fifo, sizeof fifo, "%s/dev", folder);
    mkfifo(fifo, 0600);
    int interrupted = opened(0, 0), restarted = opened(SA_RESTART, 1);
    unlink(fifo);
    rmdir(folder);
    printf("%d %d %d\n", interrupted == EINTR, restarted, (int)caught);
    return puts("ok"), 0;
}
