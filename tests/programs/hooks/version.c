/* Answers cuDriverGetVersion with 42. */
#include "cutap_hook.h"

static void answer(struct cutap_call *call) {
    static const int version = 42;
    cutap_output(call, "driverVersion", &version, sizeof version);
    cutap_return(call, 0);
}

CUTAP_HOOK { return cutap_register(CUTAP_DRIVER, "cuDriverGetVersion", answer, NULL); }
