/* Answers cudaMalloc of 13 bytes with an address of its own, and says what it was told where nothing can be written. */
#include "cutap_hook.h"
#include <stdio.h>

static void before(struct cutap_call *call) {
    if (cutap_unsigned(call, "size") != 13)
        return;
    void *wrong = (void *)0x99, *mine = (void *)0x1234;
    int none = cutap_output(call, "none", &mine, sizeof mine), number = cutap_output(call, "size", &mine, sizeof mine);
    cutap_return(call, 0);
    int first = cutap_output(call, "devPtr", &wrong, sizeof wrong), again = cutap_output(call, "devPtr", &mine, sizeof mine);
    printf("told %d %d %d %d\n", none, number, first, again);
}

CUTAP_HOOK {
    cutap_register(CUTAP_RUNTIME, "cudaMalloc", before, NULL);
    return 0;
}
