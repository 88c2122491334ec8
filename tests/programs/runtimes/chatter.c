/* Calls that start no work, from four threads and in two layers, of which some fail; and a few that do something. What is counted must
 * be all of them, and what is recorded those that fail. Prints how often it called. */
#define _GNU_SOURCE
#include "cudart.h"
#include <dlfcn.h>
#include <pthread.h>

enum { THREADS = 4, DEVICE = 100, ATTRIBUTE = 50, WRONG = 7, CONTEXT = 30 };
cudaError_t cudaPeekAtLastError(void);
static int (*current)(void **);
static int (*attribute)(int *, int, int);

static void *calls(void *nothing) {
    int value;
    void *memory, *context;
    for (int n = 0; n < DEVICE; n++) TRUE(cudaGetDevice(&value) == 0 && value == 0);
    for (int n = 0; n < ATTRIBUTE; n++) TRUE(cudaDeviceGetAttribute(&value, 1, 0) == 0);
    for (int n = 0; n < WRONG; n++) {
        TRUE(cudaDeviceGetAttribute(&value, 1, 99) != 0);
        TRUE(cudaPeekAtLastError() != 0);
        TRUE(cudaGetLastError() != 0);
        TRUE(cudaGetLastError() == 0);
        TRUE(attribute(&value, 1, 99) != 0);
    }
    TRUE(cudaMalloc(&memory, 64) == 0);
    for (int n = 0; n < CONTEXT; n++) TRUE(current(&context) == 0 && context);
    TRUE(cudaFree(memory) == 0);
    return nothing;
}

int main(void) {
    pthread_t others[THREADS];
    int devices;
    TRUE(cudaGetDeviceCount(&devices) == 0);
    TRUE(cudaFree(NULL) == 0);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    current = (int (*)(void **))dlsym(driver, "cuCtxGetCurrent");
    attribute = (int (*)(int *, int, int))dlsym(driver, "cuDeviceGetAttribute");
    TRUE(current && attribute);
    for (int n = 0; n < THREADS; n++) TRUE(pthread_create(&others[n], NULL, calls, NULL) == 0);
    for (int n = 0; n < THREADS; n++) TRUE(pthread_join(others[n], NULL) == 0);
    puts("done");
    return 0;
}
