/* Three threads use a library that stands on a runtime, and the driver itself; of each kind of thing one is left. What goes wrong: a call
 * is told of another thread, library or kernel than it was, or what was freed is called left. Argument 1: so many calls of the driver before
 * all else, argument 2: so many between making the handle and using it, to fill a ring. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int cublasCreate_v2(void **);
int cublasDestroy_v2(void *);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);

#define OK(call) do { int is_ = (call); if (is_) { printf("%s = %d\n", #call, is_); exit(1); } } while (0)
static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry other()\n{ ret; }\n";
static void *handle;

static void *gemms(void *times) {
    float one = 1, zero = 0;
    for (long i = 0; i < (long)times; i++)
        OK(cublasSgemm_v2(handle, 0, 1, 8, 8, 8, &one, NULL, 8, NULL, 8, &zero, NULL, 8));
    return NULL;
}
int main(int count, char **arguments) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *gone, *thing;
#define FIND(name) int (*name)() = (int (*)())dlsym(driver, #name)
    FIND(cuMemAlloc_v2); FIND(cuMemFree_v2); FIND(cuModuleLoadData); FIND(cuModuleUnload); FIND(cuStreamCreate); FIND(cuEventCreate);
    FIND(cuStreamDestroy_v2); FIND(cuEventDestroy_v2); FIND(cuInit);
    pthread_t threads[2];
    for (long n = 0, most = count > 1 ? atol(arguments[1]) : 0; n < most; n++) OK(cuInit(0));
    OK(cublasCreate_v2(&handle)); /* left */
    for (long n = 0, most = count > 2 ? atol(arguments[2]) : 0; n < most; n++) OK(cuInit(0));
    OK(cublasCreate_v2(&gone));
    gemms((void *)1);
    for (long n = 0; n < 2; n++) OK(pthread_create(&threads[n], NULL, gemms, (void *)(n + 2)));
    for (int n = 0; n < 2; n++) OK(pthread_join(threads[n], NULL));
    OK(cublasDestroy_v2(gone));
    /* The first of two is left. */
    for (int n = 0; n < 2; n++) OK(cuModuleLoadData(&thing, ptx));
    OK(cuModuleUnload(thing));
    for (int n = 0; n < 2; n++) OK(cuStreamCreate(&thing, 0));
    OK(cuStreamDestroy_v2(thing));
    for (int n = 0; n < 2; n++) OK(cuEventCreate(&thing, 0));
    OK(cuEventDestroy_v2(thing));
    for (long n = 0; n < 2; n++) OK(cuMemAlloc_v2(&thing, 4096l));
    OK(cuMemFree_v2(thing));
    puts("done");
    return 0;
}
