/* Says the name of each call that it gets. HOOK_NAMES are patterns with commas between them, `r:` in front for a runtime's functions
 * and `d:` for the driver's, `@` and a pattern for the library behind. */
#include "cutap_hook.h"
#include <stdio.h>

static void before(struct cutap_call *call) { printf("%s: %s\n", (const char *)call->user, call->function->name); }

CUTAP_HOOK {
    static char names[512];
    const char *given = cutap_environment("HOOK_NAMES");
    strncpy(names, given ? given : "*", sizeof names - 1);
    for (char *name = names, *comma; name; name = comma) {
        comma = strchr(name, ',');
        if (comma)
            *comma++ = 0;
        struct cutap_request want;
        memset(&want, 0, sizeof want);
        want.size = sizeof want;
        want.layers = strncmp(name, "r:", 2) == 0 ? CUTAP_RUNTIME : strncmp(name, "d:", 2) == 0 ? CUTAP_DRIVER : CUTAP_ALL;
        want.name = want.user = name + (want.layers == CUTAP_ALL ? 0 : 2);
        want.before = before;
        char *of = strchr(name, '@');
        if (of) {
            *of = 0;
            want.library = of + 1;
        }
        if (cutap->add(&want) != CUTAP_OK)
            return 1;
    }
    return 0;
}
