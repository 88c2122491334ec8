/* Counts the calls of each hooked side, atomically, and says so at the end. Its word must come back. HOOK_NAMES is the pattern. */
#include "cutap_hook.h"
#include <stdio.h>

static unsigned long befores, afters, wrong;

static void before(struct cutap_call *call) { call->user_data = 1 + __atomic_fetch_add(&befores, 1, __ATOMIC_RELAXED); }
static void after(struct cutap_call *call) {
    __atomic_fetch_add(&afters, 1, __ATOMIC_RELAXED);
    if (call->user_data == 0)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void say(void) { printf("%lu before, %lu after, %lu wrong\n", befores, afters, wrong); }

CUTAP_HOOK {
    const char *names = cutap_environment("HOOK_NAMES");
    return cutap_register(CUTAP_ALL, names ? names : "*", before, after);
}
