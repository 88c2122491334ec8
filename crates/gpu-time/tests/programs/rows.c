/* Submits work from two threads and two streams, then launches a captured graph three times. It exports the
   functions of the preload, and prints the words of each row: `row KIND WORD...`, and names: `name ID NAME`. Arguments: the
   number of launches behind all that, and, behind 0, any word for a wait of three seconds before the end. With
   CUTAP_CUPTI_BUFFERS it prints how many buffers CUPTI may have on a device. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *P;
typedef uint64_t U;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t names;

void cutap_gpu_row(uint32_t kind, const U *words, uint32_t count) {
    pthread_mutex_lock(&lock);
    printf("row %u", kind);
    for (uint32_t n = 0; n < count; n++) printf(" %llu", (unsigned long long)words[n]);
    printf("\n");
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

uint32_t cutap_gpu_name(const char *name, uint32_t length) {
    pthread_mutex_lock(&lock);
    uint32_t id = ++names;
    printf("name %u %.*s\n", id, (int)length, name);
    pthread_mutex_unlock(&lock);
    return id;
}

uint32_t cutap_gpu_wanted(void (*step_aside)(uint32_t)) { return 0; }

static P lib;
static P get(const char *name) {
    P found = dlsym(lib, name);
    if (!found) { fprintf(stderr, "no export %s\n", name); exit(1); }
    return found;
}
#define OK(name, ...) do { int is_ = ((int (*)())get(#name))(__VA_ARGS__); if (is_) { \
    fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #name, is_); exit(1); } } while (0)

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry first() { ret; }\n"
                          ".visible .entry second() { ret; }\n";
static P context, first, second, streams[2];
static U memory;
static char host[64];

/* One after the other, so that the order of submission is known. */
static void *submit(void *number) {
    int n = (int)(intptr_t)number;
    OK(cuCtxSetCurrent, context);
    for (unsigned grid = 1; grid <= 3; grid++)
        OK(cuLaunchKernel, n ? second : first, grid, 2, 3, 32, 4, 1, 128, streams[n], (P)0, (P)0);
    OK(cuMemcpyHtoDAsync_v2, memory, host, (size_t)48, streams[n]);
    OK(cuMemsetD32Async, memory, 7, (size_t)4, streams[n]);
    return 0;
}

int main(int count, char **words) {
    P module, graph, parent, child, executable, device_event;
    int many = count > 1 ? atoi(words[1]) : 0;
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuModuleLoadData, &module, ptx);
    OK(cuModuleGetFunction, &first, module, "first");
    OK(cuModuleGetFunction, &second, module, "second");
    OK(cuMemAlloc_v2, &memory, (size_t)64);
    for (int n = 0; n < 2; n++) OK(cuStreamCreate, &streams[n], 1);
    for (int n = 0; n < 2; n++) {
        pthread_t thread;
        pthread_create(&thread, 0, submit, (P)(intptr_t)n);
        pthread_join(thread, 0);
    }
    OK(cuMemcpyDtoH_v2, host, memory, (size_t)16);
    /* Nodes in the order of their creation: first, second on the other stream, first, a set, a copy. */
    OK(cuEventCreate, &device_event, 2);
    OK(cuStreamBeginCapture_v2, streams[0], 0);
    OK(cuLaunchKernel, first, 10, 1, 1, 1, 1, 1, 0, streams[0], (P)0, (P)0);
    OK(cuEventRecord, device_event, streams[0]);
    OK(cuStreamWaitEvent, streams[1], device_event, 0);
    OK(cuLaunchKernel, second, 11, 1, 1, 1, 1, 1, 0, streams[1], (P)0, (P)0);
    OK(cuLaunchKernel, first, 12, 1, 1, 1, 1, 1, 0, streams[0], (P)0, (P)0);
    OK(cuMemsetD8Async, memory, 1, (size_t)13, streams[0]);
    OK(cuEventRecord, device_event, streams[1]);
    OK(cuStreamWaitEvent, streams[0], device_event, 0);
    OK(cuMemcpyDtoDAsync_v2, memory + 32, memory, (size_t)14, streams[0]);
    OK(cuStreamEndCapture, streams[0], &graph);
    /* A graph with that one as a child. */
    OK(cuGraphCreate, &parent, 0);
    OK(cuGraphAddChildGraphNode, &child, parent, (P)0, (size_t)0, graph);
    OK(cuGraphInstantiateWithFlags, &executable, graph, (U)0);
    uint32_t id;
    OK(cuGraphExecGetId, executable, &id);
    printf("executable %u\n", id);
    for (int n = 0; n < 3; n++) OK(cuGraphLaunch, executable, streams[n % 2]);
    OK(cuGraphDestroy, graph);
    OK(cuGraphInstantiateWithFlags, &executable, parent, (U)0);
    OK(cuGraphExecGetId, executable, &id);
    printf("executable %u\n", id);
    OK(cuGraphLaunch, executable, streams[0]);
    for (int n = 0; n < many; n++)
        OK(cuLaunchKernel, first, 1 + n, 1, 1, 1, 1, 1, 0, streams[n % 2], (P)0, (P)0);
    OK(cuCtxSynchronize);
    if (getenv("CUTAP_CUPTI_BUFFERS")) {
        size_t buffers = 0, size = sizeof buffers;
        lib = dlopen("libcupti.so", RTLD_NOW);
        OK(cuptiActivityGetAttribute, 2, &size, &buffers);
        printf("buffers %zu\n", buffers);
    }
    if (many == 0 && count > 2) sleep(3);
    return 0;
}
