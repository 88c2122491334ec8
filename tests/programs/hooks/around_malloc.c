/* What people ask for in forums: something before and something after each cudaMalloc, of shared and linked-in runtimes. */
#include "cutap_hook.h"
#include <stdio.h>

static void before(struct cutap_call *call) {
    call->user_data = cutap_unsigned(call, "size");
    printf("before cudaMalloc of %llu bytes\n", (unsigned long long)call->user_data);
}

static void after(struct cutap_call *call) {
    void **place = cutap_pointer(call, "devPtr");
    int code = (int)cutap_result(call);
    printf("after cudaMalloc of %llu bytes: %d, %s\n", (unsigned long long)call->user_data, code, code == 0 && *place ? "memory" : "nothing");
}

CUTAP_HOOK { return cutap_register(CUTAP_RUNTIME, "cudaMalloc", before, after); }
