/* Children that run another program image: fork and exec, vfork and exec, posix_spawn, and at last exec of the program itself. */
//: exe exec -l:libcuda.so.1
#include "fixture.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static void wait_for(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
int main(int argc, char **argv) {
    CUdeviceptr p;
    if (argc > 1) {
        CHECK(!strcmp(argv[1], "last") ? cuMemFree_v2(1) == 0 : cuMemAlloc_v2(&p, 64) == 0);
        if (!strcmp(argv[1], "last")) puts("ok");
        return 0;
    }
    char *again[] = {argv[0], "child", 0}, *last[] = {argv[0], "last", 0};
    CHECK(cuInit(0) == 0);
    pid_t child = fork();
    if (!child) execv("/proc/self/exe", again), _exit(71);
    wait_for(child);
    child = vfork();
    if (!child) execv("/proc/self/exe", again), _exit(71);
    wait_for(child);
    CHECK(posix_spawn(&child, "/proc/self/exe", 0, 0, again, environ) == 0);
    wait_for(child);
    execv("/proc/self/exe", last);
    CHECK(!"exec came back");
}
