/* Reads arguments by names that their function does not have, again and again, and asks whether it has one. */
#include "cutap_hook.h"
#include <stdio.h>

static void before(struct cutap_call *call) {
    unsigned long long wrong = cutap_unsigned(call, "bytes") + (unsigned long long)cutap_signed(call, "bytes");
    if (cutap_index(call, "asked") != CUTAP_ERR_NO_PARAM) wrong++;
    wrong += cutap_pointer(call, "size") != NULL;
    printf("%llu of %llu\n", wrong, (unsigned long long)cutap_unsigned(call, "bytesize"));
}

CUTAP_HOOK {
    return cutap_register(CUTAP_DRIVER, "cuMemAlloc", before, NULL);
}
