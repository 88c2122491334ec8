/* What hooks on the fixture driver are tried with; each word of the command line is done. */
#include "fixture.h"
#include <pthread.h>

enum { THREADS = 32, CALLS = 2000 };

static void *thread(void *unused) {
    CUdeviceptr p;
    int v;
    for (int i = 0; i < CALLS; i++) CHECK(cuDriverGetVersion(&v) == 0 && cuMemAlloc_v2(&p, 64) == 0);
    return unused;
}
static void deeper(void *data) {
    long left = (long)data;
    if (left) CHECK(cuFixtureCall(deeper, (void *)(left - 1)) == 0);
}
int main(int n, char **words) {
    for (int i = 1; i < n; i++) {
        CUdeviceptr p = 0;
        if (!strcmp(words[i], "grid")) {
            printf("launch %d\n", cuLaunchKernel((void *)1, 900, 3, 4, 5, 6, 7, 8, (void *)9, (void *)10, (void *)11));
        } else if (!strcmp(words[i], "threads")) {
            pthread_t t[THREADS];
            for (int k = 0; k < THREADS; k++) CHECK(pthread_create(&t[k], 0, thread, 0) == 0);
            for (int k = 0; k < THREADS; k++) pthread_join(t[k], 0);
        } else if (!strcmp(words[i], "deep")) {
            CHECK(cuFixtureCall(deeper, (void *)39) == 0);
        } else {
            int code = cuMemAlloc_v2(&p, (size_t)atol(words[i]));
            printf("%s bytes: %d\n", words[i], code);
            fflush(stdout);
        }
    }
    return 0;
}
