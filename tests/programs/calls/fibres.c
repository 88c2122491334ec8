/* Two fibres on stacks of their own, each leaving its call in the middle for the other's: ends come in another order than starts.
 * A wrong parent may be shown here, a lost call may not. */
//: exe fibres -Wno-clobbered -l:libcuda.so.1
#include "fixture.h"
#include <ucontext.h>

enum { TURNS = 500 };
static ucontext_t main_context, fibre[2];
static int calls;

static void leaves(void *data) {
    long me = (long)data;
    CUdeviceptr p;
    CHECK(cuMemAlloc_v2(&p, 64) == 0);
    swapcontext(&fibre[me], &fibre[1 - me]); /* in the middle of cuFixtureCall */
    CHECK(cuMemFree_v2(p) == 0);
    calls++;
}
static void run(int me) {
    for (int i = 0; i < TURNS; i++) CHECK(cuFixtureCall(leaves, (void *)(long)me) == 0);
    swapcontext(&fibre[me], me ? &main_context : &fibre[1]);
}
int main(void) {
    for (int i = 0; i < 2; i++) {
        CHECK(getcontext(&fibre[i]) == 0);
        fibre[i].uc_stack.ss_sp = malloc(1 << 18), fibre[i].uc_stack.ss_size = 1 << 18;
        makecontext(&fibre[i], (void (*)(void))run, 1, i);
    }
    CHECK(swapcontext(&main_context, &fibre[0]) == 0);
    CHECK(calls == 2 * TURNS && fixture_count("cuMemFree_v2") == 2 * TURNS && fixture_count("cuFixtureCall") == 2 * TURNS);
    puts("ok");
}
