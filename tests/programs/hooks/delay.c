/* Makes every cuStreamSynchronize and cudaStreamSynchronize begin HOOK_DELAY_MS later (20 if it is not set). */
#include "cutap_hook.h"
#include <stdlib.h>
#include <time.h>

static long delay = 20;

static void wait_first(struct cutap_call *call) {
    struct timespec time = {delay / 1000, delay % 1000 * 1000000};
    (void)call;
    nanosleep(&time, NULL);
}

CUTAP_HOOK {
    const char *set = cutap_environment("HOOK_DELAY_MS");
    if (set)
        delay = atol(set);
    return cutap_register(CUTAP_DRIVER | CUTAP_RUNTIME, "cu*StreamSynchronize*", wait_first, NULL);
}
