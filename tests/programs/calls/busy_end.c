/* The process ends in each way while one thread is inside a call and others have just been calling. */
//: exe busy_return -DEND= -l:libcuda.so.1
//: exe busy_exit -DEND=exit(7) -l:libcuda.so.1
//: exe busy_now -DEND=_exit(7) -l:libcuda.so.1
//: exe busy_quick -DEND=quick_exit(7) -l:libcuda.so.1
//: exe busy_abort -DEND=abort() -l:libcuda.so.1
//: exe busy_segv -DEND=raise(SIGSEGV) -l:libcuda.so.1
//: exe busy_kill -DEND=kill(getpid(),SIGKILL) -l:libcuda.so.1
//: exe busy_exec -DEND=again() -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>
#include <signal.h>

static int done;
static void last(void) { CHECK(cuStreamSynchronize(0) == 0); }
static void *sleeps(void *unused) { return cuFixtureSleep(100000), unused; }
static void *calls(void *unused) {
    CUdeviceptr p;
    for (int i = 0; i < 3000; i++) CHECK(cuMemAlloc_v2(&p, 64) == 0);
    __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
    pause();
    return unused;
}
static void again(void) {
    char *words[] = {"busy_exec", "again", 0};
    execv("/proc/self/exe", words);
    CHECK(!"exec came back");
}
int main(int argc, char **argv) {
    pthread_t t;
    (void)argv, (void)again;
    if (argc > 1) {
        CHECK(cuMemFree_v2(1) == 0);
        return 7;
    }
    CHECK(cuInit(0) == 0 && at_quick_exit(last) == 0 && pthread_create(&t, 0, sleeps, 0) == 0);
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&t, 0, calls, 0) == 0);
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < 3 || fixture_count("cuFixtureSleep") < 1) usleep(1000);
    END;
    return 7;
}
