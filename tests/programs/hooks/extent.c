/* Makes what cudaMalloc3D allocates smaller: a struct of three words. */
#include "cutap_hook.h"

static void smaller(struct cutap_call *call) {
    static const uint64_t extent[3] = {50, 10, 2};
    cutap->write(call, cutap_index(call, "extent"), extent, sizeof extent);
}

CUTAP_HOOK { return cutap_register(CUTAP_RUNTIME, "cudaMalloc3D", smaller, NULL); }
