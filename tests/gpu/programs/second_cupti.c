/* What a second libcupti answers to cuptiSubscribe_v2 after a first one has collected and was given up in some way.
 *
 *   second_cupti FIRST SECOND WAY
 *
 * WAY: none (the first is not used), open (only loaded), used, disabled, finalized, finalized_subscribed (a subscriber
 * calls cuptiFinalize in a callback, as its documentation asks), closed (finalized, and the library unloaded). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL = 10, BUFFER = 1 << 20, DRIVER_DOMAIN = 1 };
static void *first, *subscriber;
static int finalized = -1;

static int call(void *library, const char *name)
{
    int (*function)(uint32_t) = dlsym(library, name);
    return function ? function(KERNEL) : -1;
}

static void take(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(64, BUFFER);
    *size = BUFFER;
    *records = 0;
}

static void give(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    free(buffer);
}

static void on_call(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id;
    uint32_t is_exit;
    memcpy(&is_exit, data, sizeof is_exit);
    if (is_exit && finalized == -1)
        finalized = ((int (*)(void))dlsym(first, "cuptiFinalize"))();
}

int main(int count, char **words)
{
    if (count < 4)
        return 2;
    const char *way = words[3];
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*initialize)(unsigned) = dlsym(driver, "cuInit");
    int (*retain)(void **, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*synchronize)(void) = dlsym(driver, "cuCtxSynchronize");
    int (*current)(void *) = dlsym(driver, "cuCtxSetCurrent");
    void *context;
    initialize(0), retain(&context, 0), current(context);
    int enabled = -1, disabled = -1;
    if (strcmp(way, "none") != 0)
        first = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (first && strcmp(way, "open") != 0) {
        ((int (*)(void *, void *))dlsym(first, "cuptiActivityRegisterCallbacks"))(take, give);
        enabled = call(first, "cuptiActivityEnable");
        synchronize();
        if (strcmp(way, "used") != 0) {
            disabled = call(first, "cuptiActivityDisable");
            ((int (*)(uint32_t))dlsym(first, "cuptiActivityFlushAll"))(1);
        }
        if (strcmp(way, "finalized") == 0 || strcmp(way, "closed") == 0)
            finalized = ((int (*)(void))dlsym(first, "cuptiFinalize"))();
        if (strcmp(way, "finalized_subscribed") == 0) {
            ((int (*)(void **, void *, void *))dlsym(first, "cuptiSubscribe"))(&subscriber, on_call, NULL);
            ((int (*)(uint32_t, void *, uint32_t))dlsym(first, "cuptiEnableDomain"))(1, subscriber, DRIVER_DOMAIN);
            synchronize();
        }
        if (strcmp(way, "closed") == 0)
            dlclose(first);
    }
    void *second = dlopen(words[2], RTLD_NOW | RTLD_LOCAL), *handle = NULL;
    int (*subscribe)(void **, void *, void *, void *) = second ? dlsym(second, "cuptiSubscribe_v2") : NULL;
    int answer = subscribe ? subscribe(&handle, on_call, NULL, NULL) : -1;
    if (answer == 39 || answer == -1)
        usleep(200000), answer = subscribe ? subscribe(&handle, on_call, NULL, NULL) : -1;
    printf("%s: enable %d, disable %d, finalize %d, cuptiSubscribe_v2 of the second %d\n", way, enabled, disabled,
           finalized, answer);
    fflush(stdout);
    _exit(0);
}
