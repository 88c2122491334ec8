/* Says at the end of how many calls the caller was no code of the program's or of a library's. Of linked-in runtimes it is not known. */
#define _GNU_SOURCE
#include "cutap_hook.h"
#include <dlfcn.h>
#include <stdio.h>

static int calls, wrong;
static void look(struct cutap_call *call) {
    Dl_info found;
    const void *caller = cutap_caller(call);
    calls++;
    if ((caller || call->function->layer != CUTAP_RUNTIME) && (!dladdr(caller, &found) || strstr(found.dli_fname, "libcutap")))
        wrong++;
}
__attribute__((destructor)) static void end(void) { printf("callers: %s, %d wrong\n", calls > 9 ? "many" : "few", wrong); }

CUTAP_HOOK { return cutap_register(CUTAP_ALL, "*", look, look); }
