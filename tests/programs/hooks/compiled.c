/* Makes HOOK_CODE the result of the launch that a compiler writes: by an answer, or with HOOK_AFTER behind the call. */
#include "cutap_hook.h"
#include <stdlib.h>

static void before(struct cutap_call *call) {
    if (!cutap_environment("HOOK_AFTER"))
        cutap_answer(call, strtoull(cutap_environment("HOOK_CODE"), NULL, 10));
}
static void after(struct cutap_call *call) {
    if (cutap_environment("HOOK_AFTER"))
        cutap_set_result(call, strtoull(cutap_environment("HOOK_CODE"), NULL, 10));
}

CUTAP_HOOK { return cutap_want(CUTAP_RUNTIME, "__cudaLaunchKernel", before, after); }
