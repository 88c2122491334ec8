/* As many processes as argument 1 says, one after the other (0: in this one), each with as many threads as argument 2 says, all there at
 * the same time, each making as many calls as argument 3 says. Prints how many calls that were. */
//: exe many_rings -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>
#include <sys/wait.h>

static pthread_barrier_t all;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static int calls = 10;

static void *thread(void *unused) {
    CUdeviceptr p;
    pthread_barrier_wait(&all);
    /* One at a time, for each needs a descriptor for a moment. */
    pthread_mutex_lock(&first);
    CHECK(cuMemAlloc_v2(&p, 64) == 0);
    pthread_mutex_unlock(&first);
    for (int i = 1; i < calls; i++) CHECK(cuMemAlloc_v2(&p, 64) == 0);
    pthread_barrier_wait(&all);
    return unused;
}
static void threads(int n) {
    static pthread_t t[32768];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    pthread_barrier_init(&all, 0, n);
    for (int i = 0; i < n; i++) CHECK(pthread_create(&t[i], &small, thread, 0) == 0);
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
}
int main(int argc, char **argv) {
    int processes = argc > 3 ? atoi(argv[1]) : 2, n = argc > 3 ? atoi(argv[2]) : 3;
    if (argc > 3) calls = atoi(argv[3]);
    CHECK(n <= 32768);
    for (int i = 0; i < processes; i++) {
        int child = fork(), status;
        if (child == 0) {
            threads(n);
            exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    if (processes == 0) threads(n);
    printf("%d\n", (processes ? processes : 1) * n * calls);
}
