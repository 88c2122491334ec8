/* The program sees one device, whatever there are. cudaGetDeviceCount and cuDeviceGetCount write to their first parameter; a linked-in
 * runtime has asked the driver already when it first reports a call, so both are changed. */
#include "cutap_hook.h"

static void one(struct cutap_call *call) {
    int *count = cutap_pointer(call, "count");
    if (cutap_result(call) == 0 && count && *count > 1)
        *count = 1;
}

CUTAP_HOOK {
    cutap_want(CUTAP_DRIVER, "cuDeviceGetCount", NULL, one);
    cutap_want(CUTAP_RUNTIME, "cudaGetDeviceCount", NULL, one);
    return 0;
}
