/* Wants HOOK_MANY functions beside cuMemAlloc, and never looks at the answer. */
#include "cutap_hook.h"
#include <stdio.h>
#include <stdlib.h>

static void before(struct cutap_call *call) { (void)call; }

CUTAP_HOOK {
    int many = atoi(cutap_environment("HOOK_MANY"));
    cutap_register(CUTAP_DRIVER, "cuMemAlloc", before, NULL);
    for (int n = 0; n < many; n++) {
        char name[32];
        snprintf(name, sizeof name, "*NotThere%d", n);
        cutap_register(CUTAP_DRIVER, name, before, NULL);
    }
    return 0;
}
