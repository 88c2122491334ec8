/* Answers cudaMalloc of 13 bytes with error 2, hides the error of one that is too large, answers queries as HOOK_QUERY says, and
 * says what the functions behind it would return; HOOK_LAST changes that. Says once of each what can be done. */
#include "cutap_hook.h"
#include <stdio.h>
#include <stdlib.h>

static void met(const struct cutap_function *function, void *user) {
    (void)user;
    printf("%s: can %u%s\n", function->name, function->can, function->can == 7 || function->why ? "" : ", not told why");
}
static void answer(struct cutap_call *call) {
    if (cutap_unsigned(call, "size") == 13)
        cutap_return(call, 2);
}
static void hide(struct cutap_call *call) {
    if (cutap_unsigned(call, "size") > 1ull << 40)
        cutap_set_result(call, 0);
}
static void query(struct cutap_call *call) {
    const char *with = cutap_environment("HOOK_QUERY");
    if (with)
        cutap_return(call, (uint64_t)atoi(with));
}
static void told(struct cutap_call *call) {
    const char *with = cutap_environment("HOOK_LAST");
    printf("[%llu]", (unsigned long long)cutap_result(call));
    if (with && cutap_set_result(call, (uint64_t)atoi(with)) != CUTAP_OK)
        printf("[cannot]");
}
static void text(struct cutap_call *call) {
    if (!(call->function->can & CUTAP_CAN_RESULT) != (cutap_set_result(call, cutap_result(call)) == CUTAP_ERR_NOT_SUPPORTED))
        printf("%s says another thing than it does\n", call->function->name);
}
static void describes(struct cutap_call *call) {
    if (cutap_return(call, 1) != CUTAP_ERR_NOT_SUPPORTED)
        printf("%s was answered with a word\n", call->function->name);
}

CUTAP_HOOK {
    struct cutap_request want = {.size = sizeof want, .layers = CUTAP_RUNTIME, .name = "cudaGetErrorString", .after = text, .on_resolve = met};
    cutap->add(&want);
    want.name = "cudaGetErrorName";
    cutap->add(&want);
    want.name = "cudaCreateChannelDesc";
    want.before = describes;
    cutap->add(&want);
    cutap_register(CUTAP_RUNTIME, "cudaMalloc", answer, hide);
    cutap_register(CUTAP_RUNTIME, "cudaStreamQuery", query, query);
    cutap_register(CUTAP_RUNTIME, "cudaEventQuery", query, query);
    cutap_register(CUTAP_RUNTIME, "cudaGetLastError", NULL, told);
    cutap_register(CUTAP_RUNTIME, "cudaPeekAtLastError", NULL, told);
    return 0;
}
