// A thread that is not the main one calls exec: all other threads end, and it continues under the number of the main
// one. A tracer that does not know this waits for a thread that is gone.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static char *self;

static void *busy(void *unused)
{
    for (;;) close(open("/proc/self/stat", O_RDONLY));
    return unused;
}

static void *replaces(void *unused)
{
    char process[32];
    usleep(20000);
    snprintf(process, sizeof process, "%d", getpid());
    execl(self, self, process, (char *)0);
    return unused;
}

int main(int count, char **words)
{
    if (count > 1) return puts(getpid() == gettid() && atoi(words[1]) == getpid() ? "ok" : "another number"), 0;
    self = words[0];
    pthread_t thread;
    for (int n = 0; n < 3; n++) pthread_create(&thread, 0, busy, 0);
    pthread_create(&thread, 0, replaces, 0);
    for (;;) pause();
}
