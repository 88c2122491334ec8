/* Makes HOOK_CODE the result of the launch that a compiler writes: by an answer, or with HOOK_AFTER behind the call. HOOK_INNER is made the result
 * of the launch inside of it. */
#include "cutap_hook.h"
#include <stdlib.h>

static uint64_t code(const char *name) { return strtoull(cutap_environment(name), NULL, 10); }
static void before(struct cutap_call *call) {
    if (cutap_environment("HOOK_CODE") && !cutap_environment("HOOK_AFTER"))
        cutap_return(call, code("HOOK_CODE"));
}
static void after(struct cutap_call *call) {
    if (cutap_environment("HOOK_CODE") && cutap_environment("HOOK_AFTER"))
        cutap_set_result(call, code("HOOK_CODE"));
}
static void inner(struct cutap_call *call) {
    if (cutap_environment("HOOK_INNER"))
        cutap_set_result(call, code("HOOK_INNER"));
}

CUTAP_HOOK {
    cutap_register(CUTAP_RUNTIME, "cudaLaunchKernel", NULL, inner);
    return cutap_register(CUTAP_RUNTIME, "__cudaLaunchKernel", before, after);
}
