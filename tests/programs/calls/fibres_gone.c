/* Fibres whose stacks lie without a guard page below other memory, or below their thread's stack, and are unmapped when they end.
 * What is kept of a caller's stack must not be read there. In the first thread, and in one without a guard page. */
//: exe fibres_gone -Wno-clobbered -l:libcuda.so.1 -pthread
#include "fixture.h"
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { FIBRES = 100, SIZE = 20480 };
static ucontext_t scheduler, fibre[FIBRES];

static void inside(void *me) {
    CUdeviceptr p;
    CHECK(cuMemAlloc_v2(&p, 64) == 0);
    swapcontext(&fibre[(long)me], &scheduler); /* in the middle of cuFixtureCall */
    CHECK(cuMemFree_v2(p) == 0);
}
static void run(int me) {
    int status;
    void *f;
    char name[] = "cuInit"; /* on the fibre's stack */
    CHECK(cuFixtureCall(inside, (void *)(long)me) == 0 && cuGetProcAddress_v2(name, &f, 12000, 0, &status) == 0);
    swapcontext(&fibre[me], &scheduler);
}
static void *round_of(void *unused) {
    void *stack[FIBRES];
    for (int n = 0; n < FIBRES; n++) {
        stack[n] = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(stack[n] != MAP_FAILED && getcontext(&fibre[n]) == 0);
        fibre[n].uc_stack.ss_sp = stack[n], fibre[n].uc_stack.ss_size = SIZE;
        makecontext(&fibre[n], (void (*)(void))run, 1, n);
        CHECK(swapcontext(&scheduler, &fibre[n]) == 0);
    }
    for (int k = 0; k < FIBRES; k++) {
        int n = k * 7 % FIBRES;
        CHECK(swapcontext(&scheduler, &fibre[n]) == 0 && munmap(stack[n], SIZE) == 0);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_attr_t how;
    pthread_attr_init(&how), pthread_attr_setguardsize(&how, 0), pthread_attr_setstacksize(&how, 1 << 17);
    for (int n = 0; n < 3; n++) {
        round_of(0);
        CHECK(pthread_create(&thread, &how, round_of, 0) == 0 && pthread_join(thread, 0) == 0);
    }
    CHECK(fixture_count("cuMemFree_v2") == 6 * FIBRES);
    puts("ok");
}
