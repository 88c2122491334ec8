/* While no descriptor is free, a thread calls: it has no ring, and tries to make one ever more seldom. Then there are some again, and a
 * child is forked, which calls and ends at once. */
//: exe forked_meanwhile -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void *thread(void *unused) {
    for (int i = 0; i < 1000; i++, usleep(1000)) CHECK(cuStreamSynchronize(0) == 0);
    return unused;
}

int main(void) {
    struct rlimit before, none;
    pthread_t t;
    CHECK(cuInit(0) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before, none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK(pthread_create(&t, 0, thread, 0) == 0 && pthread_join(t, 0) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 50; i++) CHECK(cuDriverGetVersion(&(int){0}) == 0);
        _exit(0);
    }
    CHECK(waitpid(child, 0, 0) == child);
    puts("ok");
    return 0;
}
