/* A thousand threads whose rings cannot be made: no descriptor is left, or the run directory is gone. The program goes on, and nothing of
 * the attempts stays behind, neither a descriptor nor memory. */
//: exe no_ring_files -DFILES=1 -l:libcuda.so.1
//: exe no_ring_folder -DFILES=0 -l:libcuda.so.1
#include "fixture.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>

enum { THREADS = 1000 };

static long descriptors(void) {
    long n = 0;
    DIR *d = opendir("/proc/self/fd");
    CHECK(d);
    while (readdir(d)) n++;
    return closedir(d), n;
}
static long pages(void) {
    long n = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld", &n) == 1);
    return fclose(f), n;
}
static void *calls(void *unused) {
    CUdeviceptr p;
    CHECK(cuMemAlloc_v2(&p, 1) == 0 && cuMemFree_v2(p) == 0);
    return unused;
}
static void *only_memory(void *unused) {
    void *volatile some = malloc(100);
    return free(some), unused;
}
static void one(void *(*f)(void *)) {
    pthread_t t;
    CHECK(pthread_create(&t, 0, f, 0) == 0 && pthread_join(t, 0) == 0);
}
int main(void) {
    char away[600];
    const char *run = getenv("CUTAP_RUN");
    struct rlimit before, none;
    CHECK(cuInit(0) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0); /* the main thread has its ring */
    one(only_memory);                                                /* and the C library a stack and an arena */
    long d = descriptors(), p = pages();
    none = before, none.rlim_cur = 0;
    snprintf(away, sizeof away, "%s-away", run ? run : "");
    if (FILES) CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    else if (run) CHECK(rename(run, away) == 0);
    for (int i = 0; i < THREADS; i++) one(calls);
    if (FILES) CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    else if (run) CHECK(rename(away, run) == 0);
    CHECK(descriptors() == d && pages() - p < THREADS / 10);
    CHECK(cuDriverGetVersion(&(int){0}) == 0 && fixture_count("cuMemFree_v2") == THREADS);
    puts("ok");
}
