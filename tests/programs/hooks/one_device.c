/* The program sees one device, whatever there are. A runtime that is starting is told the truth: it would notice. */
#include "cutap_hook.h"

static void one(struct cutap_call *call) {
    static const int just_one = 1;
    const int *count = cutap_pointer(call, "count");
    if (!cutap_starting(call) && cutap_result(call) == 0 && count && *count > 1)
        cutap_output(call, "count", &just_one, sizeof just_one);
}

CUTAP_HOOK {
    cutap_register(CUTAP_DRIVER, "cuDeviceGetCount", NULL, one);
    cutap_register(CUTAP_RUNTIME, "cudaGetDeviceCount", NULL, one);
    return 0;
}
