/* The program sees one device, whatever there are. A runtime that is starting is told the truth: it would notice. */
#include "cutap_hook.h"

static void one(struct cutap_call *call) {
    int *count = cutap_pointer(call, "count");
    if (!cutap_starting(call) && cutap_result(call) == 0 && count && *count > 1)
        *count = 1;
}

CUTAP_HOOK {
    cutap_want(CUTAP_DRIVER, "cuDeviceGetCount", NULL, one);
    cutap_want(CUTAP_RUNTIME, "cudaGetDeviceCount", NULL, one);
    return 0;
}
