/* Ends the program in the place that HOOK_WHERE names: init, constructor, leaves (a constructor that calls _exit), before, after, met; together: before a call, when 64 threads are there. The call
 * is one of HOOK_NAME. */
#include "cutap_hook.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static int *volatile nowhere = (int *)16;

static void crash(struct cutap_call *call) {
    (void)call;
    *nowhere = 1;
}
static void together(struct cutap_call *call) {
    static atomic_int there;
    if (atomic_fetch_add(&there, 1) == 63) crash(call);
    for (;;) pause();
}
static void met(const struct cutap_function *function, void *user) {
    (void)user;
    crash((struct cutap_call *)function);
}

__attribute__((constructor)) static void constructor(void) {
    const char *where = getenv("HOOK_WHERE");
    if (where && !strcmp(where, "constructor")) crash(NULL);
    if (where && !strcmp(where, "leaves")) _exit(9);
}

CUTAP_HOOK {
    const char *where = cutap_environment("HOOK_WHERE");
    const char *name = cutap_environment("HOOK_NAME");
    struct cutap_want want = {.size = sizeof want, .layers = CUTAP_ALL, .name = name ? name : "cuMemAlloc_v2"};
    if (!where || !strcmp(where, "init"))
        crash(NULL);
    else if (!strcmp(where, "before"))
        want.before = crash;
    else if (!strcmp(where, "after"))
        want.after = crash;
    else if (!strcmp(where, "together"))
        want.before = together;
    else if (!strcmp(where, "exit"))
        exit(9);
    else
        want.met = met;
    return cutap->want(&want);
}
