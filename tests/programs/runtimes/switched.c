/* Calls, runs a command, calls again, for each argument: what `cutap ctl`, which the commands are, changes between the calls must show in
 * the trace, call by call. A round is 10 cudaGetDevice, 5 cuStreamQuery by a pointer fetched at the start, 3 cudaMemset.
 * The argument START is cudaProfilerStart, STOP cudaProfilerStop; what stands between FORK and JOIN is done by a forked child. */
#define _GNU_SOURCE
#include "cudart.h"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

int main(int count, char **arguments) {
    int device, forked = 0; /* CUDA refuses the calls of a forked child; they are made all the same */
    void *memory;
    OK(cudaMalloc(&memory, 64));
    int (*query)(void *) = (int (*)(void *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamQuery");
    TRUE(query != NULL);
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < 10; n++) TRUE(cudaGetDevice(&device) == 0 || forked);
        for (int n = 0; n < 5; n++) TRUE(query(NULL) == 0 || forked);
        for (int n = 0; n < 3; n++) TRUE(cudaMemset(memory, 0, 64) == 0 || forked);
        if (i + 1 == count) break;
        if (!strcmp(arguments[i + 1], "START")) OK(cudaProfilerStart());
        else if (!strcmp(arguments[i + 1], "STOP")) OK(cudaProfilerStop());
        else if (!strcmp(arguments[i + 1], "JOIN")) _exit(0);
        else if (!strcmp(arguments[i + 1], "FORK")) {
            int status;
            pid_t child = fork();
            TRUE(child >= 0);
            forked = child == 0;
            if (forked) continue;
            TRUE(waitpid(child, &status, 0) == child && status == 0);
            while (strcmp(arguments[i + 1], "JOIN")) i++;
        } else TRUE(system(arguments[i + 1]) == 0);
    }
    puts("done");
    return 0;
}
