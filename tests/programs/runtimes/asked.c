/* Threads that launch a kernel of a library 500 times each, after which the process is killed: at each launch that is watched, the runtime
 * asks for the kernel's name. Another four come after the first have ended, and get their rings. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct { unsigned x, y, z; } dim3;
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
int cudaLibraryGetKernel(void **, void *, const char *);

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry nothing(.param .u32 n)\n{\n  ret;\n}\n";
static void *kernel;

static void check(int code) {
    if (code != 0) printf("error %d\n", code), exit(1);
}
static void *launch(void *unused) {
    for (int i = 0; i < 500; i++) {
        int n = i;
        void *arguments[] = {&n};
        check(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, arguments, 0, NULL));
    }
    return unused;
}
int main(void) {
    void *library;
    check(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    check(cudaLibraryGetKernel(&kernel, library, "nothing"));
    for (int round = 0; round < 2; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, launch, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    kill(getpid(), SIGKILL);
    return 2;
}
