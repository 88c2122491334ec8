/* Hangs of one process on the simulated driver, by the word of its argument. Each makes work that is complete, then hangs
   until it is killed. The kernel "spins" never ends where CUTAP_SIM_SPIN=spins is set. */
//: exe hang_kinds -lpthread
#include "fixture.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef void *P;
typedef unsigned long U;
/* The fixture's driver has not these functions; the simulated one is found by name. */
static int call(const char *name, U a, U b, U c, U d, U e, U f, U g, U h, U i, U j, U k) {
    static P lib;
    if (!lib) lib = dlopen("libcuda.so.1", RTLD_NOW);
    int (*function)(U, U, U, U, U, U, U, U, U, U, U) = (int (*)(U, U, U, U, U, U, U, U, U, U, U))dlsym(lib, name);
    return function ? function(a, b, c, d, e, f, g, h, i, j, k) : -1;
}
#define W(x) ((U)(uintptr_t)(x))
#define FIRST_(name, a, b, c, d, e, f, g, h, i, j, k, ...) \
    CHECK(call(#name, W(a), W(b), W(c), W(d), W(e), W(f), W(g), W(h), W(i), W(j), W(k)) == 0)
#define OK(name, ...) FIRST_(name, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry works() { ret; }\n"
                          ".visible .entry spins() { ret; }\n";
static P context, works, spins, stream, other, event;
static U memory;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void launch(P kernel, P on) { OK(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, on, 0, 0); }

static void never(void *unused) {
    (void)unused;
    for (;;) pause();
}

static void take_first(void *unused) {
    (void)unused;
    pthread_mutex_lock(&first);
}

/* Another thread may hold the mutex whose owner waits for it. */
static void *other_order(void *unused) {
    (void)unused;
    OK(cuCtxSetCurrent, context);
    pthread_mutex_lock(&second);
    launch(works, other);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return 0;
}

/* As the watchdog of PyTorch does: it asks again and again whether the work is done. */
static void *ask(void *unused) {
    (void)unused;
    OK(cuCtxSetCurrent, context);
    for (;; usleep(10000)) call("cuEventQuery", W(event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return 0;
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    P module;
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuModuleLoadData, &module, ptx);
    OK(cuModuleGetFunction, &works, module, "works");
    OK(cuModuleGetFunction, &spins, module, "spins");
    OK(cuStreamCreate, &stream, 1);
    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuMemAlloc_v2, &memory, 4096);
    OK(cuMemsetD8_v2, memory, 0, 4096);
    for (int n = 0; n < 3; n++) launch(works, stream);
    OK(cuCtxSynchronize, 0);
    if (!strcmp(kind, "spin")) {
        launch(works, other);
        launch(spins, stream);
        launch(works, stream);
        OK(cuStreamSynchronize, stream);
    } else if (!strcmp(kind, "host_function")) {
        OK(cuLaunchHostFunc, stream, never, 0);
        launch(works, stream);
        OK(cuStreamSynchronize, stream);
    } else if (!strcmp(kind, "event")) {
        /* Nobody writes the value, so the event behind it is never reached. */
        OK(cuStreamWaitValue32_v2, other, memory, 1, 0);
        OK(cuEventRecord, event, other);
        OK(cuStreamWaitEvent, stream, event, 0);
        launch(works, stream);
        OK(cuStreamSynchronize, stream);
    } else if (!strcmp(kind, "polled")) {
        pthread_t thread;
        launch(spins, stream);
        OK(cuEventRecord, event, stream);
        CHECK(pthread_create(&thread, 0, ask, 0) == 0);
        OK(cuStreamSynchronize, stream);
    } else if (!strcmp(kind, "free")) {
        launch(spins, stream);
        OK(cuMemFree_v2, memory);
    } else if (!strcmp(kind, "host_lock")) {
        /* The host function wants what the thread holds that waits for it. */
        pthread_mutex_lock(&first);
        OK(cuLaunchHostFunc, stream, take_first, 0);
        OK(cuStreamSynchronize, stream);
    } else if (!strcmp(kind, "locks")) {
        pthread_t thread;
        pthread_barrier_init(&both, 0, 2);
        pthread_mutex_lock(&first);
        CHECK(pthread_create(&thread, 0, other_order, 0) == 0);
        launch(works, stream);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&second);
    } else if (!strcmp(kind, "pipe")) {
        int ends[2];
        char bytes[4096] = {0};
        CHECK(pipe(ends) == 0);
        for (;;) CHECK(write(ends[1], bytes, sizeof bytes) > 0);
    } else if (!strcmp(kind, "computes")) {
        for (volatile U n = 0;; n++) {}
    }
    return 1;
}
