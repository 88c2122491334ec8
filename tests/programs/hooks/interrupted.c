/* A hook in whose middle a handler makes a hooked call; of the hook's own call behind that no hook may run. */
#include "cutap_hook.h"
#include <signal.h>
#include <stdio.h>

int cuMemAlloc_v2(unsigned long long *p, size_t bytes);

static int handlers, own, errors;

static void before(struct cutap_call *call) {
    unsigned long long p;
    uint64_t bytes = cutap_unsigned(call, "bytesize");
    if (bytes == 2)
        handlers++;
    if (bytes == 3)
        own++;
    if (bytes < 4)
        return;
    raise(SIGUSR1);
    for (int i = 0; i < 2; i++)
        errors += cuMemAlloc_v2(&p, 3) != 0;
}
__attribute__((destructor)) static void say(void) {
    printf("hooks of the handler's calls %d, of the hook's %d; errors %d\n", handlers, own, errors);
}
CUTAP_HOOK { return cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", before, NULL); }
