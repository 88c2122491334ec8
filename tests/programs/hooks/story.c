/* Answers cudaMalloc of 13 bytes with error 2, of 15 bytes with the runtime's own function and twice the size, hides the error of
 * cudaSetDevice, and makes an error of cudaDeviceSynchronize. Says once for each function what can be done. */
#include "cutap_hook.h"
#include <stdio.h>

static void met(const struct cutap_function *function, void *user) {
    (void)user;
    printf("%s: can %u, %s\n", function->name, function->can, function->original ? "known" : "unknown");
}
static void malloc_before(struct cutap_call *call) {
    uint64_t size = cutap_unsigned(call, "size");
    if (size == 13 && cutap_return(call, 2) != CUTAP_OK)
        printf("cannot be answered: %s\n", call->function->why ? "told why" : "not told");
    if (size == 15) {
        int (*own)(void **, size_t) = (int (*)(void **, size_t))cutap_instance_function(call, "cudaMalloc");
        if (own)
            cutap_return(call, (uint64_t)own((void **)cutap_pointer(call, "devPtr"), 30));
    }
    if (size == 16 && cutap_set(call, "size", 32) != CUTAP_OK)
        printf("an argument cannot be changed\n");
    if (size == 16 && cutap_set(call, "sise", 32) != CUTAP_ERR_NO_PARAM)
        printf("a name that is not there cannot be told from one that is\n");
}
static void hide(struct cutap_call *call) {
    if (cutap_result(call))
        cutap_set_result(call, 0);
}
static void make(struct cutap_call *call) { cutap_set_result(call, 719); }

CUTAP_HOOK {
    struct cutap_request want = {.size = sizeof want, .layers = CUTAP_RUNTIME, .name = "cudaMalloc", .before = malloc_before, .on_resolve = met};
    cutap->add(&want);
    cutap_register(CUTAP_RUNTIME, "cudaSetDevice", NULL, hide);
    cutap_register(CUTAP_RUNTIME, "cudaDeviceSynchronize", NULL, make);
    return 0;
}
