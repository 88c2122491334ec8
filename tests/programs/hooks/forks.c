/* A hook that forks: before the call (HOOK_FORK=before), or after it. Its child goes on in the same call, to the program's end,
   while the parent waits for it. */
#include "cutap_hook.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cuDriverGetVersion(int *version);

static int forked, nested;

static void split(const char *who) {
    int version = 0, status = 0;
    if (forked++)
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child) {
        if (waitpid(child, &status, 0) != child || status)
            printf("the child ended with %d\n", status);
    }
    /* A call of the hook's own, in both: it passes without hooks. */
    if (cuDriverGetVersion(&version) || version != 12090)
        printf("a call of the hook's own failed\n");
    printf("%s in the %s\n", who, child ? "parent" : "child");
    fflush(stdout);
}
static void before(struct cutap_call *call) {
    call->user_data = 41;
    if (!strcmp(cutap_environment("HOOK_FORK"), "before"))
        split("before");
    call->user_data++;
}
static void after(struct cutap_call *call) {
    if (!strcmp(cutap_environment("HOOK_FORK"), "after"))
        split("after");
    printf("after %llu\n", (unsigned long long)call->user_data);
}
static void version(struct cutap_call *call) {
    (void)call;
    nested++;
}
__attribute__((destructor)) static void say(void) { printf("hooked %d\n", nested); }

CUTAP_HOOK {
    cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", before, after);
    cutap_register(CUTAP_DRIVER, "cuDriverGetVersion", version, version);
    return 0;
}
