/* Sees the calls by which a runtime retains a primary context, and refuses them if HOOK_REFUSE is set. */
#include "cutap_hook.h"
#include <stdio.h>

static void after(struct cutap_call *call) {
    printf("hook: %s %llu\n", call->function->name, (unsigned long long)cutap_result(call));
    if (cutap_environment("HOOK_REFUSE")) cutap_set_result(call, 2);
}

static void never(struct cutap_call *call) {
    (void)call;
    puts("hook: a hidden function without CUTAP_HIDDEN");
}

CUTAP_HOOK {
    cutap_register(0, "hidden:6bd5fb6c[2]", NULL, after);
    cutap_register(CUTAP_ALL, "6bd5fb6c[2]", NULL, never);
    return 0;
}
