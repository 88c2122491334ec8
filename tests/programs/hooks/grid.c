/* Launches at most HOOK_BLOCKS blocks in x (1 if it is not set), by changing an argument of the driver's call. */
#include "cutap_hook.h"
#include <stdlib.h>

static unsigned most = 1;

static void fewer(struct cutap_call *call) {
    if (cutap_unsigned(call, "gridDimX") > most)
        cutap_set(call, "gridDimX", most);
}

CUTAP_HOOK {
    const char *set = cutap_environment("HOOK_BLOCKS");
    if (set)
        most = (unsigned)atoi(set);
    return cutap_register(CUTAP_DRIVER, "cuLaunchKernel*", fewer, NULL);
}
