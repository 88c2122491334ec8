// C++ exceptions that leave a hook: before a call of 13 bytes, after one of 14. The program is told how often the hook ran.
#include "cutap_hook.h"
#include <cstdio>
#include <cstring>

static int befores, afters;

static uint64_t bytes(struct cutap_call *call) {
    return cutap_unsigned(call, call->function->layer == CUTAP_DRIVER ? "bytesize" : "size");
}
static void before(struct cutap_call *call) {
    befores++;
    if (bytes(call) == 13)
        throw 13;
}
static void after(struct cutap_call *call) {
    afters++;
    if (bytes(call) == 14)
        throw 14;
}

__attribute__((destructor)) static void say() { std::printf("%d before, %d after\n", befores, afters); }

CUTAP_HOOK {
    if (!cutap_environment("HOOK_RUNTIME_ALONE"))
        cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", before, after);
    if (!cutap_environment("HOOK_DRIVER_ALONE"))
        cutap_register(CUTAP_RUNTIME, "cudaMalloc", before, after);
    return 0;
}
