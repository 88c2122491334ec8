/* met takes its time, or waits for another thread's call (HOOK_WAITS); before counts how often it ran too early. */
#include "cutap_hook.h"
#include <stdio.h>
#include <unistd.h>

static volatile int ready, calls, early, met_calls;

static void met(const struct cutap_function *function, void *user) {
    (void)function;
    (void)user;
    __atomic_fetch_add(&met_calls, 1, __ATOMIC_RELAXED);
    if (cutap_environment("HOOK_WAITS"))
        while (!calls) usleep(1000);
    else
        usleep(20000);
    ready = 1;
}
static void before(struct cutap_call *call) {
    (void)call;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (!ready)
        __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
}
__attribute__((destructor)) static void say(void) { printf("met %d, before %d, early %s\n", met_calls, calls, early ? "some" : "none"); }

CUTAP_HOOK {
    struct cutap_request want = {.size = sizeof want, .layers = CUTAP_DRIVER, .name = "cuMemAlloc_v2", .before = before, .on_resolve = met};
    return cutap->add(&want);
}
