/* Says before and after each launch of a runtime which kernel it is, and answers those with HOOK_ANSWER threads. */
#include "cutap_hook.h"
#include <stdio.h>
#include <stdlib.h>

static void tell(struct cutap_call *call, const char *when) {
    const char *kernel = cutap_kernel(call);
    printf(" %s %s: %s", when, call->function->name, kernel ? kernel : "NULL");
}
static void before(struct cutap_call *call) {
    const char *threads = cutap_environment("HOOK_ANSWER");
    unsigned block[3] = {0, 0, 0};
    tell(call, "before");
    cutap->read(call, cutap_index(call, "blockDim"), block, sizeof block);
    if (threads && block[0] == (unsigned)atoi(threads))
        cutap_return(call, 0);
}
static void after(struct cutap_call *call) {
    tell(call, "after");
    printf("\n");
}

CUTAP_HOOK {
    cutap_register(CUTAP_RUNTIME, "cudaLaunch*", before, after);
    cutap_register(CUTAP_RUNTIME, "__cudaLaunchKernel", before, after);
    return 0;
}
