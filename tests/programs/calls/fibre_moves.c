/* A fibre begins a call in one thread and ends it in another, in the middle of one of that thread's own with the same number. What the
 * first call gave back must not be shown as the result of the other. */
//: exe fibre_moves -Wno-clobbered -l:libcuda.so.1 -lpthread
#include "fixture.h"
#include <pthread.h>
#include <ucontext.h>

static ucontext_t fibre, first, second;

static void leaves(void *unused) {
    (void)unused;
    swapcontext(&fibre, &first); /* in the middle of cuFixtureCall, which the second thread ends */
}
static void begins(void) {
    CHECK(cuFixtureCall(leaves, 0) == 0);
    swapcontext(&fibre, &second);
}
static void ends(void *unused) {
    (void)unused;
    swapcontext(&second, &fibre);
}
static void *other(void *unused) {
    int v;
    CHECK(cuFixtureCall(ends, 0) == 0);
    CHECK(cuDriverGetVersion(&v) == 0);
    return unused;
}
int main(void) {
    pthread_t thread;
    CHECK(getcontext(&fibre) == 0);
    fibre.uc_stack.ss_sp = malloc(1 << 18), fibre.uc_stack.ss_size = 1 << 18;
    makecontext(&fibre, begins, 0);
    CHECK(swapcontext(&first, &fibre) == 0);
    CHECK(pthread_create(&thread, 0, other, 0) == 0 && pthread_join(thread, 0) == 0);
    CHECK(cuInit(0) == 0 && fixture_count("cuFixtureCall") == 2);
    puts("ok");
}
