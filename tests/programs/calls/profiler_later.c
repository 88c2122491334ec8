/* A program that profiles itself after it has worked a while. Its profiler must get what it would get without cutap. The
   first argument is how it reaches CUPTI (lazy, now: a library with bindings; dlsym; default: RTLD_DEFAULT; second:
   another copy of the library; early: before cuInit), the second one is its first call (subscribe, v2, ids, register).
   With a third one it waits for input before it ends. */
//: exe profiler_later
#include "fixture.h"
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long U;
typedef void *P;
static P driver, cupti;
static int call(const char *name, U a, U b, U c, U d, U e, U f, U g, U h, U i, U j, U k) {
    int (*function)(U, U, U, U, U, U, U, U, U, U, U) = (int (*)(U, U, U, U, U, U, U, U, U, U, U))dlsym(driver, name);
    return function ? function(a, b, c, d, e, f, g, h, i, j, k) : -1;
}
#define W(x) ((U)(uintptr_t)(x))
#define FIRST_(name, a, b, c, d, e, f, g, h, i, j, k, ...) CHECK(call(#name, W(a), W(b), W(c), W(d), W(e), W(f), W(g), W(h), W(i), W(j), W(k)) == 0)
#define OK(name, ...) FIRST_(name, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define F(name) ((int (*)())dlsym(cupti, #name))
#include "cupti_tool.h"

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry first() { ret; }\n";
static P kernel;
static U memory;
static char host[64];

static void work(int launches) {
    for (int n = 0; n < launches; n++) OK(cuLaunchKernel, kernel, n + 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
    OK(cuMemcpyHtoD_v2, memory, host, 16);
}

/* The library that the simulated driver comes with; or a copy of it, which is another library. */
static P open_cupti(int as_copy) {
    P library = dlopen("libcupti.so", RTLD_LAZY | RTLD_GLOBAL);
    Dl_info info;
    char command[9000], path[64];
    CHECK(library);
    if (!as_copy) return library;
    CHECK(dladdr(dlsym(library, "cuptiGetVersion"), &info));
    snprintf(path, sizeof path, "/tmp/second-%d-libcupti.so.12", getpid());
    snprintf(command, sizeof command, "cp '%s' %s", info.dli_fname, path);
    CHECK(system(command) == 0);
    library = dlopen(path, RTLD_NOW);
    unlink(path);
    return library;
}

int main(int count, char **words) {
    P context, module, tool = 0;
    const char *way = count > 1 ? words[1] : "dlsym", *first = count > 2 ? words[2] : "subscribe";
    void (*start)(const char *) = tool_start;
    void (*stop)(void) = tool_stop;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver);
    if (strcmp(way, "early") == 0) {
        cupti = open_cupti(0);
        start(first);
    }
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuModuleLoadData, &module, ptx);
    OK(cuModuleGetFunction, &kernel, module, "first");
    OK(cuMemAlloc_v2, &memory, 64);
    work(3);
    if (strcmp(way, "early") != 0) {
        cupti = open_cupti(strcmp(way, "second") == 0);
        if (strcmp(way, "default") == 0) cupti = RTLD_DEFAULT;
        if (strcmp(way, "lazy") == 0) tool = dlopen("libcupti_tool.so", RTLD_LAZY);
        if (strcmp(way, "now") == 0) tool = dlopen("libcupti_tool_now.so", RTLD_NOW);
        if (tool) {
            start = (void (*)(const char *))dlsym(tool, "tool_start");
            stop = (void (*)(void))dlsym(tool, "tool_stop");
        }
        start(first);
    }
    work(5);
    stop();
    work(2);
    printf("10 launches\n");
    fflush(stdout);
    if (count > 3) getchar();
    return 0;
}
