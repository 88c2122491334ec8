/* fork, vfork and a bare clone, before and after the first call: the child's calls are the child's, the parent goes on. */
//: exe fork_before -DBEFORE=1 -DFORK=fork -Wl,-z,lazy -l:libcuda.so.1
//: exe fork_after -DBEFORE=0 -DFORK=fork -Wl,-z,lazy -l:libcuda.so.1
//: exe vfork_before -DBEFORE=1 -DFORK=vfork -Wno-deprecated-declarations -Wl,-z,lazy -l:libcuda.so.1
//: exe vfork_after -DBEFORE=0 -DFORK=vfork -Wno-deprecated-declarations -Wl,-z,lazy -l:libcuda.so.1
//: exe clone_after -DBEFORE=0 -DFORK=raw_clone -Wl,-z,lazy -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Without the C library, so that no handler of pthread_atfork runs. */
static inline pid_t raw_clone(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

int main(void) {
    static int v, status; /* not on the stack that a vfork child shares */
    if (!BEFORE) CHECK(cuInit(0) == 0);
    pid_t child = FORK();
    if (child == 0) {
        CHECK(cuDriverGetVersion(&v) == 0 && cuMemFree_v2(0) == 1);
        _exit(v == 12090 ? 5 : 6);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    if (BEFORE) CHECK(cuInit(0) == 0);
    CHECK(cuStreamSynchronize(0) == 0);
    CHECK(fixture_count("cuDriverGetVersion") == 1 && fixture_count("cuInit") == 1);
    puts("ok");
}
