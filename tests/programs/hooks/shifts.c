/* Tells the program of each cudaMalloc an address 256 bytes behind the memory that was made. */
#include "cutap_hook.h"

static void after(struct cutap_call *call) {
    uint64_t *made = cutap_pointer(call, "devPtr");
    if (made == NULL || cutap_result(call) != 0)
        return;
    uint64_t other = *made + 256;
    cutap_output(call, "devPtr", &other, sizeof other);
}

CUTAP_HOOK { return cutap_register(CUTAP_RUNTIME, "cudaMalloc", NULL, after); }
