/* A program that limits its own memory: `limits as BYTES` its address space, `limits data BYTES` its data, `late` behind that after its
 * first call. The bytes are what it has without cutap, and a little more. It needs the little for threads and for memory of its own: none of that may fail because of cutap. */
//: exe limits -Wl,-z,lazy -l:libcuda.so.1
#include "fixture.h"
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define THREADS 3
#define PIECE (512 << 10)

static pthread_barrier_t all;
static void *thread(void *unused) {
    CUdeviceptr p;
    for (int i = 0; i < 500; i++) CHECK(cuMemAlloc_v2(&p, 64) == 0 && cuMemFree_v2(p) == 0);
    pthread_barrier_wait(&all);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t t[THREADS];
    pthread_attr_t small;
    int what = argc > 2 && !strcmp(argv[1], "as") ? RLIMIT_AS : RLIMIT_DATA;
    struct rlimit limit = {argc > 2 ? strtoul(argv[2], 0, 10) : RLIM_INFINITY, RLIM_INFINITY};
    mallopt(M_ARENA_MAX, 1);
    if (argc == 3) CHECK(setrlimit(what, &limit) == 0);
    CHECK(cuInit(0) == 0);
    if (argc == 4) CHECK(setrlimit(what, &limit) == 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&all, 0, THREADS + 1);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&t[i], &small, thread, 0) == 0);
    for (int i = 0; i < 2; i++) {
        char *piece = malloc(PIECE);
        CHECK(piece && mmap(0, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
        memset(piece, 1, PIECE);
    }
    pthread_barrier_wait(&all);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
    CHECK(fixture_count("cuMemAlloc_v2") == THREADS * 500 && fixture_count("cuMemFree_v2") == THREADS * 500);
    puts("ok");
    return 0;
}
