/* A thread whose handler runs on a signal stack and calls: one far from the thread's own ("far"), or close above it ("near"). */
#include "fixture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

enum { STACK = 1 << 18 };
static char far_away[STACK];
static char *signals;

static void handler(int signal) {
    CUdeviceptr p;
    (void)signal;
    CHECK(cuMemAlloc_v2(&p, 2) == 0);
}
static void *thread(void *unused) {
    stack_t stack = {.ss_sp = signals, .ss_size = STACK};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    CUdeviceptr p;
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 3; i++) CHECK(cuMemAlloc_v2(&p, 100) == 0);
    return unused;
}
int main(int n, char **words) {
    char *both = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t t;
    signals = n > 1 && !strcmp(words[1], "near") ? both + STACK : far_away;
    CHECK(both != MAP_FAILED && pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, both, STACK) == 0 && pthread_create(&t, &attributes, thread, 0) == 0);
    CHECK(pthread_join(t, 0) == 0);
    return 0;
}
