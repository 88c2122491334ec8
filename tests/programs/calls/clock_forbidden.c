/* A process that forbids itself to read the time stamp counter, by prctl or by strict seccomp, goes on calling. */
//: exe clock_forbidden -l:libcuda.so.1
#include "fixture.h"
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void call_often(void) {
    for (int v, i = 0; i < 2000; i++) CHECK(cuDriverGetVersion(&v) == 0);
}
int main(int count, char **words) {
    (void)words;
    call_often();
    if (count > 1) CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    else CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
    call_often();
    CUresult (*late)(void *) = (CUresult (*)(void *))dlsym(RTLD_DEFAULT, "cuStreamSynchronize_ptsz");
    CHECK(late && late(0) == 0 && write(1, "ok\n", 3) == 3);
    syscall(SYS_exit, 0);
}
