/* Counts launches by kernel, and says at the end how many there were. */
#include "cutap_hook.h"
#include <pthread.h>
#include <stdio.h>

#define KERNELS 256
static struct { char name[256]; unsigned long launches; } kernels[KERNELS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void launch(struct cutap_call *call) {
    const char *name = cutap_kernel(call);
    int i;
    if (!name)
        name = "a kernel without a name";
    pthread_mutex_lock(&lock);
    for (i = 0; i < KERNELS - 1 && kernels[i].launches && strncmp(kernels[i].name, name, 255); i++)
        ;
    if (!kernels[i].launches++)
        strncpy(kernels[i].name, name, 255);
    pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void say(void) {
    for (int i = 0; i < KERNELS && kernels[i].launches; i++)
        printf("%lu launches of %s\n", kernels[i].launches, kernels[i].name);
}

CUTAP_HOOK { return cutap_register(CUTAP_DRIVER, "cuLaunchKernel*", launch, NULL); }
