/* A child that outlives its parent and becomes another program again and again, each of which calls once: in the middle of an exec a
 * process has no environment. The file COUNTS.over says that it is over. */
//: exe exec_daemon -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>

int main(int count, char **arguments) {
    char number[16], path[512];
    int left = count > 1 ? atoi(arguments[1]) : 150;
    if (count == 1) {
        pid_t parent = getpid(), child = fork();
        CHECK(child >= 0);
        if (child) return puts("ok") < 0;
        CHECK(setsid() > 0);
        while (getppid() == parent) usleep(1000);
    }
    CHECK(cuInit(0) == 0);
    if (left > 0) {
        snprintf(number, sizeof number, "%d", left - 1);
        execl("/proc/self/exe", "exec_daemon", number, NULL);
        CHECK(0);
    }
    snprintf(path, sizeof path, "%s.over", getenv("FIXTURE_COUNTS") ?: "/dev/null");
    close(open(path, O_CREAT | O_WRONLY, 0600));
    _exit(0);
}
