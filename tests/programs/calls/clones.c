/* Children by raw clones, of which libc knows nothing: one ends, one is killed, one lives as long as its parent, which
 * lives until it is killed. */
//: exe clones -l:libcuda.so.1
//: exe clone_waits -DWAITS -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/wait.h>

static pid_t raw_clone(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

#ifdef WAITS
/* Its only child makes no call before the file is there that the argument names. */
int main(int argc, char **argv) {
    struct stat there;
    int v;
    CUdeviceptr p;
    CHECK(argc == 2 && cuInit(0) == 0);
    pid_t child = raw_clone();
    while (child == 0 && stat(argv[1], &there)) usleep(5000);
    CHECK(cuDriverGetVersion(&v) == 0 && cuMemAlloc_v2(&p, 0) == 1);
    if (child == 0) _exit(0);
    CHECK(child > 0 && printf("%d\n", child) > 0 && fflush(stdout) == 0 && waitpid(child, 0, 0) == child);
}
#else
int main(void) {
    int v, ready[2];
    char byte;
    CHECK(cuInit(0) == 0 && pipe(ready) == 0);
    pid_t ends = raw_clone();
    if (ends == 0) _exit(cuDriverGetVersion(&v));
    CHECK(ends > 0 && waitpid(ends, 0, 0) == ends);
    pid_t killed = raw_clone();
    if (killed == 0) {
        CHECK(cuDriverGetVersion(&v) == 0);
        raise(SIGKILL);
    }
    CHECK(killed > 0 && waitpid(killed, 0, 0) == killed);
    pid_t parent = getpid();
    pid_t lives = raw_clone();
    if (lives == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        CHECK(syscall(SYS_getppid) == parent && cuDriverGetVersion(&v) == 0 && write(ready[1], "", 1) == 1);
        for (;;) pause();
    }
    CHECK(lives > 0 && read(ready[0], &byte, 1) == 1);
    printf("%d %d %d %d\n", parent, ends, killed, lives);
    fflush(stdout);
    for (;;) pause();
}
#endif
