/* Answers cuDriverGetVersion with 42. */
#include "cutap_hook.h"

static void answer(struct cutap_call *call) {
    static const int version = 42;
    cutap_output(call, "driverVersion", &version, sizeof version);
    cutap_answer(call, 0);
}

CUTAP_HOOK { return cutap_want(CUTAP_DRIVER, "cuDriverGetVersion", answer, NULL); }
