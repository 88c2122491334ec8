/* A hook that makes calls of its own, through its own bindings and past all hooks, before and after each call that it wants. */
#include "cutap_hook.h"
#include <stdio.h>

int cuDriverGetVersion(int *version);
int cuMemAlloc_v2(unsigned long long *p, size_t bytes);

static int inside, nested;

static void before(struct cutap_call *call) {
    int version = 0;
    unsigned long long p = 0;
    int (*past)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))call->function->original;
    int (*looked_up)(int *) = (int (*)(int *))cutap_original("libcuda.so*", "cuDriverGetVersion");
    nested += inside++;
    if (cuDriverGetVersion(&version) || version != 12090 || cuMemAlloc_v2(&p, 5) || past(&p, 6) || looked_up(&version))
        printf("a call of the hook's own failed\n");
    inside--;
}

__attribute__((destructor)) static void say(void) { printf("nested %d\n", nested); }

CUTAP_HOOK {
    cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", before, before);
    cutap_register(CUTAP_DRIVER, "cuDriverGetVersion", before, before);
    return 0;
}
