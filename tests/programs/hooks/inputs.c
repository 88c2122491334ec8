/* Says of each parameter of the functions of HOOK_NAMES what cutap_output of no bytes says: where something could be written. */
#include "cutap_hook.h"
#include <stdio.h>

static void before(struct cutap_call *call) {
    for (unsigned n = 0; n < call->function->parameters; n++)
        if (cutap_pointer_at(call, (int)n) && call->function->parameter[n].kind == CUTAP_POINTER)
            printf("%s %s: %d\n", call->function->name, call->function->parameter[n].name, cutap_output_at(call, (int)n, "", 0));
}

CUTAP_HOOK { return cutap_register(CUTAP_ALL, cutap_environment("HOOK_NAMES"), before, NULL); }
