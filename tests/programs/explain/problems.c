// Each mode makes one problem that `cutap explain` knows, or nearly the same calls without it (`_ok`). A rule that finds
// nothing, or finds its problem everywhere, would be useless. Uses the driver alone, by dlsym: no header, no library.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *library;

static int call(const char *name, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
    int (*f)(uintptr_t, uintptr_t, uintptr_t, uintptr_t) = dlsym(library, name);
    if (!f) {
        fprintf(stderr, "no %s\n", name);
        exit(3);
    }
    return f(a, b, c, d);
}

enum { LARGE = 128 << 10, SMALL = 16, HUGE = 32 << 20 };

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    int is(const char *name) { return !strcmp(mode, name); }
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 2;
    uintptr_t device = 0, context = 0, memory = 0, pinned = 0, stream = 0, many[50];
    char *pageable = calloc(1, LARGE);
    call("cuInit", 0, 0, 0, 0);
    call("cuDeviceGet", (uintptr_t)&device, 0, 0, 0);
    call("cuCtxCreate_v2", (uintptr_t)&context, 0, device, 0);
    call("cuMemAlloc_v2", (uintptr_t)&memory, LARGE, 0, 0);
    call("cuMemAllocHost_v2", (uintptr_t)&pinned, LARGE, 0, 0);
    call("cuStreamCreate", (uintptr_t)&stream, 0, 0, 0);
    if (is("idle_waits")) call("cuMemsetD8Async", memory, 0, LARGE, stream);
    for (int n = 0; n < 50; n++) {
        for (int m = 0; m < 6; m++)
            if (is("idle_waits_ok")) call("cuMemsetD8Async", memory, 0, LARGE, stream);
        if (is("idle_waits") || is("idle_waits_ok")) call("cuStreamSynchronize", stream, 0, 0, 0);
        if (is("sync_in_loop") || is("sync_in_loop_ok")) call("cuMemcpyHtoDAsync_v2", memory, pinned, LARGE, stream);
        if (is("sync_in_loop")) call("cuStreamSynchronize", stream, 0, 0, 0);
        if (is("pageable_copies")) call("cuMemcpyHtoDAsync_v2", memory, (uintptr_t)pageable, LARGE, stream);
        if (is("pageable_copies_ok")) call("cuMemcpyHtoDAsync_v2", memory, pinned, LARGE, stream);
        if (is("small_copies_ok")) call("cuMemcpyHtoD_v2", memory, (uintptr_t)pageable, LARGE, 0);
        for (int m = 0; m < 4; m++) {
            if (is("small_copies")) call("cuMemcpyHtoD_v2", memory, (uintptr_t)pageable, SMALL, 0);
            if (is("queries")) call("cuDeviceGetAttribute", (uintptr_t)&many[0], 16, device, 0);
        }
        if (is("allocation_churn") || is("allocation_churn_ok")) call("cuMemAlloc_v2", (uintptr_t)&many[n], LARGE, 0, 0);
        if (is("allocation_churn")) call("cuMemFree_v2", many[n], 0, 0, 0);
        if (is("recreated_objects") || is("recreated_objects_ok")) call("cuEventCreate", (uintptr_t)&many[n], 0, 0, 0);
        if (is("recreated_objects")) call("cuEventDestroy_v2", many[n], 0, 0, 0);
        // The same nodes each time, or a graph for each size, all of them there at once.
        if (is("instantiated_again") || is("instantiated_again_ok")) {
            uintptr_t graph = 0, bytes = is("instantiated_again") ? LARGE : n + 1;
            call("cuStreamBeginCapture_v2", stream, 0, 0, 0);
            call("cuMemsetD8Async", memory, 0, bytes, stream);
            call("cuStreamEndCapture", stream, (uintptr_t)&graph, 0, 0);
            call("cuGraphInstantiateWithFlags", (uintptr_t)&many[n], graph, 0, 0);
            call("cuGraphDestroy", graph, 0, 0, 0);
        }
        if (is("instantiated_again")) call("cuGraphExecDestroy", many[n], 0, 0, 0);
        // The same address each time, or another one.
        char *own = is("registered_again") ? pageable : pageable + n * 2048;
        if (is("registered_again") || is("registered_again_ok")) {
            call("cuMemHostRegister_v2", (uintptr_t)own, 2048, 0, 0);
            call("cuMemHostUnregister", (uintptr_t)own, 0, 0, 0);
        }
    }
    for (int n = 0; n < 50; n++) {
        if (is("allocation_churn_ok")) call("cuMemFree_v2", many[n], 0, 0, 0);
        if (is("recreated_objects_ok")) call("cuEventDestroy_v2", many[n], 0, 0, 0);
        if (is("instantiated_again_ok")) call("cuGraphExecDestroy", many[n], 0, 0, 0);
    }
    // More time than a few small copies take on any machine.
    if (is("synchronous_copies") || is("synchronous_copies_ok") || is("synchronous_fills")) {
        uintptr_t huge = 0, from = 0;
        call("cuMemAlloc_v2", (uintptr_t)&huge, HUGE, 0, 0);
        if (!is("synchronous_copies_ok")) from = (uintptr_t)calloc(1, HUGE);
        else call("cuMemAllocHost_v2", (uintptr_t)&from, HUGE, 0, 0);
        for (int n = 0; n < 20; n++) {
            if (is("synchronous_copies")) call("cuMemcpyHtoD_v2", huge, from, HUGE, 0);
            if (is("synchronous_copies_ok")) call("cuMemcpyHtoDAsync_v2", huge, from, HUGE, stream);
            if (is("synchronous_fills")) call("cuMemsetD8_v2", huge, n, HUGE, 0);
        }
        call("cuMemFree_v2", huge, 0, 0, 0);
    }
    if (is("ignored_error") || is("ignored_error_ok")) {
        uintptr_t none = 0, text = 0;
        int failed = call("cuMemAlloc_v2", (uintptr_t)&none, (uintptr_t)1 << 50, 0, 0);
        if (is("ignored_error_ok")) call("cuGetErrorString", failed, (uintptr_t)&text, 0, 0);
    }
    // A long wait for the stream, or a program that does something else meanwhile.
    if (is("device_waits") || is("device_waits_ok")) call("cuLaunchHostFunc", stream, (uintptr_t)usleep, 60000, 0);
    if (is("device_waits_ok")) usleep(200000);
    // The signal ends the program inside the wait.
    if (is("unfinished_calls")) {
        alarm(argc > 2 ? atoi(argv[2]) : 1);
        call("cuLaunchHostFunc", stream, (uintptr_t)sleep, 100, 0);
    }
    call("cuStreamSynchronize", stream, 0, 0, 0);
    call("cuMemFree_v2", memory, 0, 0, 0);
    puts("ok");
    return 0;
}
