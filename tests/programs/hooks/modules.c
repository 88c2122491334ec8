/* Gives cuModuleGetFunction HOOK_KERNEL as the name, and with HOOK_IMAGE, what is loaded is another module. */
#include "cutap_hook.h"

static const char other[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry one(.param .s32 second, .param .f64 first)\n{ ret; }\n";
static void name(struct cutap_call *call) {
    const char *kernel = cutap_environment("HOOK_KERNEL");
    if (kernel)
        cutap_set(call, "name", (uint64_t)(uintptr_t)kernel);
}
static void image(struct cutap_call *call) {
    if (cutap_environment("HOOK_IMAGE"))
        cutap_set(call, "image", (uint64_t)(uintptr_t)other);
}

CUTAP_HOOK {
    cutap_register(CUTAP_DRIVER, "cuModuleGetFunction", name, NULL);
    cutap_register(CUTAP_DRIVER, "cuModuleLoadData", image, NULL);
    return 0;
}
