/* Calls from many kinds of stacks, each right behind a line with what glibc's backtrace() finds there: a name, then return addresses
 * from the function that makes the call outwards. cutap must find the same, or say that its copy ends. Built so that no frame pointer
 * helps. */
//: exe stacks -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -Wno-clobbered -l:libcuda.so.1
//: exe stacks_stripped -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -Wno-clobbered -s -l:libcuda.so.1
#include "fixture.h"
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone))
static const char *name;

APART static void mark(void) {
    void *at[256];
    int n = backtrace(at, 256);
    printf("%s", name);
    for (int i = 1; i < n; i++) printf(" %p", at[i]);
    puts("");
}
#define CALL() do { CUdeviceptr p; mark(); CHECK(cuMemAlloc_v2(&p, 64) == 0); } while (0)

APART int inner(volatile int *n) { CALL(); return *n + 1; }
APART int outer(int n) { volatile int k = n; return inner(&k) * 2; }
APART int recursive(int n) {
    volatile char room[200];
    room[n % 200] = 1;
    return n ? recursive(n - 1) + room[0] : outer(n);
}
APART int aligned(int n) {
    _Alignas(128) volatile char wide[256];
    volatile char variable[n + 100];
    wide[0] = variable[n] = 1;
    return outer(n) + wide[0] + variable[n];
}
static int compare(const void *a, const void *b) {
    static int once;
    if (!once++) outer(1);
    return *(const int *)a - *(const int *)b;
}
static void *thread(void *data) { return (void *)(intptr_t)outer((int)(intptr_t)data); }
static void handler(int s) { outer(s); }
static ucontext_t home, away;
static void fibre(void) { outer(1); }

int main(void) {
    setvbuf(stdout, 0, _IOLBF, 0);
    name = "plain", outer(1);
    name = "recursive", recursive(20);
    name = "aligned", aligned(50);
    int numbers[] = {3, 1, 2};
    name = "callback", qsort(numbers, 3, sizeof *numbers, compare);
    name = "deep", recursive(180);
    pthread_t t;
    name = "thread";
    CHECK(!pthread_create(&t, 0, thread, 0) && !pthread_join(t, 0));
    struct sigaction action = {.sa_handler = handler};
    CHECK(!sigaction(SIGUSR1, &action, 0));
    name = "handler", raise(SIGUSR1);
    static char other[1 << 16], small[1 << 16];
    stack_t alternate = {.ss_sp = other, .ss_size = sizeof other};
    action.sa_flags = SA_ONSTACK;
    CHECK(!sigaltstack(&alternate, 0) && !sigaction(SIGUSR1, &action, 0));
    name = "alternate", raise(SIGUSR1);
    CHECK(!getcontext(&away));
    away.uc_stack.ss_sp = small, away.uc_stack.ss_size = sizeof small, away.uc_link = &home;
    makecontext(&away, fibre, 0);
    name = "fibre";
    CHECK(!swapcontext(&home, &away));
    puts("ok");
}
