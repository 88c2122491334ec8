/* Answers each call of the hidden function that HIDDEN_SKIP names with CUDA_SUCCESS, without calling it. */
#include "cutap_hook.h"

static void skip(struct cutap_call *call) { cutap_return(call, 0); }

CUTAP_HOOK {
    const char *name = cutap_environment("HIDDEN_SKIP");
    return name ? cutap_register(CUTAP_HIDDEN, name, skip, NULL) : 1;
}
