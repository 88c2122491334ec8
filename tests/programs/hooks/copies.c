/* The old riddle of the forums: a replaced cuMemcpyHtoD that nobody calls. Says each call of the memcpy family that a program makes,
 * and which driver call it becomes: "cudaMemcpy: cuMemcpyHtoD_v2". */
#include "cutap_hook.h"
#include <stdio.h>

static __thread char becomes[512];
static __thread int depth;

static void runtime_before(struct cutap_call *call) {
    (void)call;
    if (depth++ == 0)
        becomes[0] = 0;
}

static void driver_before(struct cutap_call *call) {
    size_t used = strlen(becomes);
    if (depth > 0)
        snprintf(becomes + used, sizeof becomes - used, " %s", call->function->name);
    else
        printf("the program itself: %s\n", call->function->name);
}

static void runtime_after(struct cutap_call *call) {
    if (--depth == 0)
        printf("%s:%s\n", call->function->name, becomes);
}

CUTAP_HOOK {
    cutap_register(CUTAP_RUNTIME, "cudaMemcpy*", runtime_before, runtime_after);
    cutap_register(CUTAP_DRIVER, "cuMemcpy*", driver_before, NULL);
    return 0;
}
