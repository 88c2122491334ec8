/* A child that outlives its parent by a second, or until there is a file FIXTURE_GO, and calls then: one that called before, and one that
 * makes its first call then. The file COUNTS.over says that it is over. */
//: exe daemon -DFIRST=1 -l:libcuda.so.1
//: exe daemon_late -DFIRST=0 -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>

int main(void) {
    CUdeviceptr p;
    CHECK(cuInit(0) == 0);
    pid_t parent = getpid(), child = fork();
    CHECK(child >= 0);
    if (child) return puts("ok") < 0;
    CHECK(setsid() > 0);
    if (FIRST) CHECK(cuMemFree_v2(1) == 0);
    while (getppid() == parent) usleep(1000);
    const char *go = getenv("FIXTURE_GO");
    for (int left = go ? 12000 : 100; left > 0 && !(go && access(go, F_OK) == 0); left--) usleep(10000);
    for (int i = 0; i < 5000; i++) CHECK(cuMemAlloc_v2(&p, 64) == 0);
    char path[512];
    snprintf(path, sizeof path, "%s.over", getenv("FIXTURE_COUNTS") ?: "/dev/null");
    close(open(path, O_CREAT | O_WRONLY, 0600));
    _exit(0);
}
