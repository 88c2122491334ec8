/* A hook that does nothing, before and after every call: what hooks cost by themselves. HOOK_NAMES is a pattern for the functions. */
#include "cutap_hook.h"

static void nothing(struct cutap_call *call) { (void)call; }

CUTAP_HOOK {
    const char *names = cutap_environment("HOOK_NAMES");
    return cutap_register(CUTAP_ALL, names ? names : "*", nothing, nothing);
}
