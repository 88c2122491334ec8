/* Calls, runs a command, calls again, for each argument: what `cutap ctl`, which the commands are, changes between the calls must show in
 * the trace, call by call. A round is 10 cudaGetDevice, 5 cuStreamQuery by a pointer fetched at the start, 3 cudaMemset.
 * The argument START is cudaProfilerStart, STOP cudaProfilerStop. */
#define _GNU_SOURCE
#include "cudart.h"
#include <dlfcn.h>

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

int main(int count, char **arguments) {
    int device;
    void *memory;
    OK(cudaMalloc(&memory, 64));
    int (*query)(void *) = (int (*)(void *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamQuery");
    TRUE(query != NULL);
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < 10; n++) OK(cudaGetDevice(&device));
        for (int n = 0; n < 5; n++) TRUE(query(NULL) == 0);
        for (int n = 0; n < 3; n++) OK(cudaMemset(memory, 0, 64));
        if (i + 1 == count) break;
        if (!strcmp(arguments[i + 1], "START")) OK(cudaProfilerStart());
        else if (!strcmp(arguments[i + 1], "STOP")) OK(cudaProfilerStop());
        else TRUE(system(arguments[i + 1]) == 0);
    }
    puts("done");
    return 0;
}
