/* Every way to read and to change an argument, by name and by number, and results that are floats; only functions of libraries. */
#include "cutap_hook.h"
#include <stdio.h>

static void normal(struct cutap_call *call) {
    int mean = cutap_index(call, "mean");
    printf("hook: %s same %d n=%llu mean=%g stddev=%g of %u\n", call->function->name,
        cutap_pointer_at(call, 0) && cutap_pointer(call, "outputPtr") == cutap_pointer_at(call, 1),
        (unsigned long long)cutap_unsigned_at(call, 2), cutap_float_at(call, mean), cutap_float(call, "stddev"), call->function->parameters);
    cutap_set_float(call, "mean", 2.5);
    cutap_set_float_at(call, 4, 0.5);
    cutap_set_at(call, 2, 9);
}
static void gemm(struct cutap_call *call) {
    if (call->function->can != (CUTAP_CAN_ANSWER | CUTAP_CAN_ARGUMENTS | CUTAP_CAN_RESULT) || cutap_return_double(call, 1) != CUTAP_ERR_NOT_SUPPORTED)
        printf("hook: a status was answered with a double\n");
    printf("hook: gemm m=%lld ldc=%lld alpha=%g beta=%g none=%d\n", (long long)cutap_signed(call, "m"), (long long)cutap_signed_at(call, 13),
        *(float *)cutap_pointer(call, "alpha"), *(float *)cutap_pointer_at(call, 11), cutap_set(call, "nothing", 1));
    cutap_set(call, "ldc", 1);
    cutap_set_at(call, 10, 2);
}
static void gemm_ended(struct cutap_call *call) {
    if (cutap_signed(call, "ldc") != 1 || cutap_signed_at(call, 10) != 2 || cutap_signed_at(call, 8) == 0)
        printf("hook: arguments are not what the call was made with\n");
}
static void dot(struct cutap_call *call) {
    if (cutap_signed(call, "n") != -1)
        return;
    if (cutap_return(call, 7) != CUTAP_ERR_NOT_SUPPORTED)
        printf("hook: a float was answered with an integer\n");
    if (strcmp(call->function->name, "cublasSdot") == 0)
        cutap_return_float(call, 2.5f);
    else
        cutap_return_double(call, -0.1);
}
static void dotted(struct cutap_call *call) {
    if (cutap_set_result(call, 7) != CUTAP_ERR_NOT_SUPPORTED || call->function->can & CUTAP_CAN_RESULT || !call->function->why)
        printf("hook: a float can be changed\n");
    if (strcmp(call->function->name, "cublasSdot") == 0)
        printf("hook: incx=%lld result %g\n", (long long)cutap_signed(call, "incx"), cutap_result_float(call));
    else
        printf("hook: incx=%lld result %g\n", (long long)cutap_signed_at(call, 2), cutap_result_double(call));
}
static void words(struct cutap_call *call) {
    printf("hook: words %lld %lld of %u\n", (long long)cutap_raw_arg(call, 0), (long long)cutap_raw_arg(call, 1), call->function->parameters);
}

CUTAP_HOOK {
    struct cutap_request want = {.size = sizeof want, .layers = CUTAP_LIBRARY, .library = "libcurand.so*", .name = "curandGenerateNormal*", .before = normal};
    cutap->add(&want);
    cutap_register(CUTAP_LIBRARY, "cublasSgemm_v?", gemm, gemm_ended);
    cutap_register(CUTAP_LIBRARY, "cublas?dot", dot, dotted);
    cutap_register(CUTAP_LIBRARY, "curandFixtureTwoWords", words, NULL);
    /* Of other layers: none of these is called. */
    cutap_register(CUTAP_DRIVER | CUTAP_RUNTIME, "cublas*", gemm, NULL);
    return 0;
}
