/* Work for the rows of GPU time. Four threads launch one kernel whose grid has the number of the thread and of the
   launch. Then a graph of four nodes is captured, instantiated twice and replayed, and one with a child graph is made by
   hand. Prints what it did. With the argument "stops" it prints its process id and waits for a line of input, before the
   capture and behind it. With "busy" it makes 200,000 other calls behind the
   instantiation, and copies to the memory at the end. With "churn" it makes and destroys memory and graphs there. */
//: exe gpu_work -lpthread
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
#define FIRST_(name, a, b, c, d, e, f, g, h, i, j, k, ...) CHECK(call(#name, W(a), W(b), W(c), W(d), W(e), W(f), W(g), W(h), W(i), W(j), W(k)) == 0)
#define OK(name, ...) FIRST_(name, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
enum { THREADS = 4, LAUNCHES = 400 };

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry first() { ret; }\n"
                          ".visible .entry second() { ret; }\n";
static P context, first, second, streams[THREADS];
static U memory;
static char host[64];

static void launch(P kernel, unsigned x, unsigned y, P stream) {
    OK(cuLaunchKernel, kernel, x, y, 1, 1, 1, 1, 0, stream, 0, 0);
}

static void *submit(void *number) {
    intptr_t n = (intptr_t)number;
    OK(cuCtxSetCurrent, context);
    for (unsigned k = 1; k <= LAUNCHES; k++) launch(first, k, (unsigned)n + 1, streams[n]);
    return 0;
}

static void wait_for_line(int wanted) {
    if (!wanted) return;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (getchar() != '\n') {}
}

static void make_other_calls(void) {
    P current;
    for (int n = 0; n < 200000; n++) OK(cuCtxGetCurrent, &current);
}

/* Memory, a module and a graph, which are destroyed again, more than a small flight recorder keeps at a time. */
static void make_and_destroy(void) {
    P module, kernel, graph, executable, current;
    U piece;
    for (int round = 0; round < 8; round++) {
        for (int n = 0; n < 20; n++) {
            for (int k = 0; k < 3; k++) {
                OK(cuMemAlloc_v2, &piece, 128);
                OK(cuMemFree_v2, piece);
            }
            OK(cuModuleLoadData, &module, ptx);
            OK(cuModuleGetFunction, &kernel, module, "second");
            OK(cuStreamBeginCapture_v2, streams[0], 0);
            launch(kernel, 20, 1, streams[0]);
            OK(cuStreamEndCapture, streams[0], &graph);
            OK(cuGraphInstantiateWithFlags, &executable, graph, 0);
            OK(cuGraphDestroy, graph);
            OK(cuGraphExecDestroy, executable);
            OK(cuModuleUnload, module);
        }
        for (int n = 0; n < 2000; n++) OK(cuCtxGetCurrent, &current);
        usleep(700000);
    }
}

int main(int count, char **arguments) {
    int stops = count > 1 && !strcmp(arguments[1], "stops");
    int churns = count > 1 && !strcmp(arguments[1], "churn");
    int is_busy = count > 1 && !strcmp(arguments[1], "busy");
    P module, graph, parent, node, executables[2], of_parent;
    pthread_t threads[THREADS];
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuModuleLoadData, &module, ptx);
    OK(cuModuleGetFunction, &first, module, "first");
    OK(cuModuleGetFunction, &second, module, "second");
    OK(cuMemAlloc_v2, &memory, 64);
    for (int n = 0; n < THREADS; n++) OK(cuStreamCreate, &streams[n], 1);
    for (intptr_t n = 0; n < THREADS; n++) CHECK(pthread_create(&threads[n], 0, submit, (P)n) == 0);
    for (int n = 0; n < THREADS; n++) CHECK(pthread_join(threads[n], 0) == 0);
    wait_for_line(stops);
    OK(cuStreamBeginCapture_v2, streams[0], 0);
    launch(first, 10, 1, streams[0]);
    OK(cuMemsetD8Async, memory, 1, 13, streams[0]);
    launch(second, 11, 1, streams[0]);
    OK(cuMemcpyHtoDAsync_v2, memory, host, 14, streams[0]);
    OK(cuStreamEndCapture, streams[0], &graph);
    for (int n = 0; n < 2; n++) OK(cuGraphInstantiateWithFlags, &executables[n], graph, 0);
    if (stops) launch(first, 12, 1, streams[0]);
    wait_for_line(stops);
    if (is_busy) make_other_calls();
    if (churns) make_and_destroy();
    for (int n = 0; n < 5; n++) OK(cuGraphLaunch, executables[n % 2], streams[1]);
    OK(cuGraphCreate, &parent, 0);
    OK(cuGraphAddChildGraphNode, &node, parent, 0, 0, graph);
    OK(cuGraphInstantiateWithFlags, &of_parent, parent, 0);
    OK(cuGraphLaunch, of_parent, streams[2]);
    if (is_busy) OK(cuMemcpyHtoDAsync_v2, memory, host, 15, streams[0]);
    OK(cuCtxSynchronize, 0);
    printf("%d launches, 6 replays\n", THREADS * LAUNCHES);
    return 0;
}
