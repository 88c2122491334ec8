/* Two hooks on one function, in order: this one says what it sees, and answers 7 bytes itself. */
#include "cutap_hook.h"
#include <stdio.h>

#ifndef ME
#define ME "first"
#endif

static void before(struct cutap_call *call) {
    printf("%s before %llu\n", ME, (unsigned long long)cutap_unsigned(call, "bytesize"));
    call->user_data = 100;
    if (cutap_unsigned(call, "bytesize") == 7)
        cutap_return(call, 77);
    cutap_set(call, "bytesize", cutap_unsigned(call, "bytesize") + 1);
}
static void after(struct cutap_call *call) {
    printf("%s after %llu, %llu\n", ME, (unsigned long long)cutap_result(call), (unsigned long long)call->user_data++);
    if (cutap_result(call) == 1)
        cutap_set_result(call, 1000);
}

CUTAP_HOOK { return cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", before, after); }
