/* A hook that forks at each call: the child changes, answers, and leaves the hook by _exit or by an exception; of the parent's
 * recording it must touch nothing. */
#include "cutap_hook.h"
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

static void forks(struct cutap_call *call) {
    pid_t child = fork();
    call->user_data = (uint64_t)child;
    if (child) {
        waitpid(child, nullptr, 0);
        return;
    }
    for (int i = 0; i < 100; i++)
        cutap_set(call, "bytesize", 5000 + i);
    if (!strcmp(cutap_environment("HOOK_END"), "throw"))
        throw 1;
    cutap_return(call, 999);
    _exit(0);
}
CUTAP_HOOK { return cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", forks, nullptr); }
