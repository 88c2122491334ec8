/* Ends the program in the place that HOOK_WHERE names: init, constructor, aborts (a constructor that calls abort), leaves (a constructor that calls _exit), exits (one that calls exit), destructor, late (the last one to run), left (a destructor that calls _exit), before, after, met; together: before a call, when 64 threads are there; ends: before a call, by _exit. The call
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
static void passes(struct cutap_call *call) {
    (void)call;
}
static void together(struct cutap_call *call) {
    static atomic_int there;
    if (atomic_fetch_add(&there, 1) == 63) crash(call);
    for (;;) pause();
}
static void ends(struct cutap_call *call) {
    (void)call;
    _exit(9);
}
static void met(const struct cutap_function *function, void *user) {
    (void)user;
    crash((struct cutap_call *)function);
}

__attribute__((constructor)) static void constructor(void) {
    const char *where = getenv("HOOK_WHERE");
    if (where && !strcmp(where, "constructor")) crash(NULL);
    if (where && !strcmp(where, "aborts")) abort();
    if (where && !strcmp(where, "leaves")) _exit(9);
    if (where && !strcmp(where, "exits")) exit(9);
}
__attribute__((destructor)) static void destructor(void) {
    const char *where = getenv("HOOK_WHERE");
    if (where && !strcmp(where, "destructor")) crash(NULL);
    if (where && !strcmp(where, "left")) _exit(9);
}
__attribute__((destructor(200))) static void late(void) {
    const char *where = getenv("HOOK_WHERE");
    if (where && !strcmp(where, "late")) crash(NULL);
}

CUTAP_HOOK {
    const char *where = cutap_environment("HOOK_WHERE");
    const char *name = cutap_environment("HOOK_NAME");
    struct cutap_request want = {.size = sizeof want, .layers = CUTAP_ALL, .name = name ? name : "cuMemAlloc_v2"};
    if (!where || !strcmp(where, "init"))
        crash(NULL);
    else if (!strcmp(where, "before"))
        want.before = crash;
    else if (!strcmp(where, "after"))
        want.after = crash;
    else if (!strcmp(where, "together"))
        want.before = together;
    else if (!strcmp(where, "ends"))
        want.before = ends;
    else if (!strcmp(where, "exit"))
        exit(9);
    else if (!strcmp(where, "met"))
        want.on_resolve = met;
    else
        want.before = passes;
    return cutap->add(&want);
}
