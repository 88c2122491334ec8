/* As many threads as argument 1 says, each calling as fast as it can for as many milliseconds as argument 2 says; each prints how
 * many calls it made. A third argument names a file that is made when all have made 20,000 calls; a file FILE.stop ends all earlier. A launch at the very end uses
 * what was handed out at the very beginning. */
//: exe full_speed -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

static int running = 1, ready;

static void *thread(void *calls) {
    CUdeviceptr p;
    long n = 0;
    while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
        CHECK(cuMemAlloc_v2(&p, 64) == 0);
        if (++n == 20000) __atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
    }
    *(long *)calls = n;
    return 0;
}
static long now(void) {
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t), t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
int main(int argc, char **argv) {
    int threads = argc > 2 ? atoi(argv[1]) : 2;
    long calls[256], ms = argc > 2 ? atol(argv[2]) : 50;
    pthread_t t[256];
    CUresult (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    char stop[600];
    if (argc > 3) snprintf(stop, sizeof stop, "%s.stop", argv[3]);
    CHECK(threads <= 256 && cuInit(0) == 0);
    CHECK(cuGetProcAddress("cuLaunchKernel", (void **)&launch, 12000, 0) == 0);
    CHECK(launch((void *)1, 2, 3, 4, 5, 6, 7, 8, (void *)9, (void *)10, (void *)11) == 0);
    for (int i = 0; i < threads; i++) CHECK(pthread_create(&t[i], 0, thread, &calls[i]) == 0);
    for (long end = now() + ms; now() < end;) {
        usleep(5000);
        if (argc > 3 && access(stop, F_OK) == 0) break;
        if (argc > 3 && __atomic_load_n(&ready, __ATOMIC_RELAXED) == threads) close(open(argv[3], O_CREAT | O_WRONLY, 0600));
    }
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    for (int i = 0; argc > 2 && i < threads; i++) printf("%ld\n", calls[i]);
    CHECK(fflush(stdout) == 0);
    CHECK(launch((void *)1, 2, 3, 4, 5, 6, 7, 8, (void *)9, (void *)10, (void *)11) == 0);
    if (argc > 4) raise(SIGSEGV);
    if (argc < 3) puts("ok");
}
