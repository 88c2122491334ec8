/* As many threads as argument 1 says, all alive at the same time, each making as many calls as argument 2 says. Prints how many
 * mappings the process has while they are alive, and how many calls they made. Each thread of the program costs two mappings for its
 * stack, of a limited number: cutap must leave room for them. */
//: exe live_threads -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

static pthread_barrier_t all;
static int calls;

static void *thread(void *unused) {
    for (int i = 0; i < calls; i++) CHECK(cuDriverGetVersion(&(int){0}) == 0);
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    return unused;
}
static long mappings(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    long lines = 0;
    CHECK(file);
    for (int c; (c = fgetc(file)) != EOF;) lines += c == '\n';
    fclose(file);
    return lines;
}
int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[1]) : 3;
    calls = argc > 2 ? atoi(argv[2]) : 3;
    pthread_t *t = calloc(n, sizeof *t);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_barrier_init(&all, 0, n + 1);
    for (int i = 0; i < n; i++) CHECK(pthread_create(&t[i], &small, thread, 0) == 0);
    pthread_barrier_wait(&all);
    printf("%ld %ld\n", mappings(), (long)n * calls);
    pthread_barrier_wait(&all);
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
    return 0;
}
