/* Every allocation of the driver is HOOK_BYTES long, whatever the program asks. */
#include "cutap_hook.h"
#include <stdlib.h>

static void before(struct cutap_call *call) { cutap_set(call, "bytesize", strtoull(cutap_environment("HOOK_BYTES"), NULL, 10)); }

CUTAP_HOOK { return cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", before, NULL); }
