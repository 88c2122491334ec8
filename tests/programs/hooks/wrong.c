/* Wants what cannot be wanted, and one function that can; says at its first call what it was told. */
#include "cutap_hook.h"
#include <stdio.h>

static int codes[7];

static void before(struct cutap_call *call) {
    (void)call;
    for (unsigned n = 0; n < sizeof codes / sizeof *codes; n++)
        printf("%d%c", codes[n], n + 1 < sizeof codes / sizeof *codes ? ' ' : '\n');
}

CUTAP_HOOK {
    static char longer[130];
    memset(longer, 'c', sizeof longer - 1);
    struct cutap_request nowhere = {.size = sizeof nowhere, .library = "", .name = "cuMemAlloc", .before = before};
    codes[0] = cutap_register(99, "cuMemAlloc", before, NULL);
    codes[1] = cutap_register(16, "cuMemAlloc", before, NULL);
    codes[2] = cutap_register(CUTAP_DRIVER, "", before, NULL);
    codes[3] = cutap_register(CUTAP_DRIVER, NULL, before, NULL);
    codes[4] = cutap_register(CUTAP_DRIVER, longer, before, NULL);
    codes[5] = cutap->add(&nowhere);
    codes[6] = cutap_register(CUTAP_DRIVER, "cuMemAlloc", before, NULL);
    return 0;
}
