/* Makes the success of HOOK_NAME an error, and its error a success; calls the runtime's own function first where HOOK_TWICE is set. */
#include "cutap_hook.h"

static void before(struct cutap_call *call) {
    void *p;
    int (*own)(void **, size_t) = (int (*)(void **, size_t))cutap_instance_function(call, call->function->name);
    if (cutap_environment("HOOK_TWICE") && own)
        own(&p, 4321);
}
static void after(struct cutap_call *call) { cutap_set_result(call, cutap_result(call) ? 0 : 2); }

CUTAP_HOOK { return cutap_register(CUTAP_ALL, cutap_environment("HOOK_NAME"), before, after); }
