/* Threads that all call at once: after each argument, which is a command that one of them runs, each makes 300 cudaGetDevice and 100
 * cuStreamQuery by a pointer fetched at the start. After FORK a child goes on, and its new threads call before the one that forked. */
#define _GNU_SOURCE
#include "cudart.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4 };
static pthread_barrier_t barrier;
static int (*query)(void *);
static char **arguments;
static int count, forked;

static void calls(void) {
    int device;
    for (int n = 0; n < 300; n++) TRUE(cudaGetDevice(&device) == 0 || forked); /* CUDA refuses the calls of a forked child */
    for (int n = 0; n < 100; n++) TRUE(query(NULL) == 0 || forked);
}

static void *rounds(void *first) {
    OK(cudaFree(NULL)); /* a context for this thread */
    for (int i = 0; i < count; i++) {
        if (first) TRUE(system(arguments[i]) == 0);
        pthread_barrier_wait(&barrier);
        calls();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *once(void *nothing) {
    calls();
    return nothing;
}

int main(int argc, char **argv) {
    pthread_t others[THREADS];
    OK(cudaFree(NULL));
    query = (int (*)(void *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamQuery");
    TRUE(query != NULL);
    if (argc == 2 && !strcmp(argv[1], "FORK")) {
        int status;
        calls();
        pid_t child = fork();
        TRUE(child >= 0);
        if (child == 0) {
            forked = 1;
            for (int n = 0; n < THREADS; n++) TRUE(pthread_create(&others[n], NULL, once, NULL) == 0);
            for (int n = 0; n < THREADS; n++) TRUE(pthread_join(others[n], NULL) == 0);
            calls();
            _exit(0);
        }
        TRUE(waitpid(child, &status, 0) == child && status == 0);
    } else {
        count = argc - 1;
        arguments = argv + 1;
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (int n = 0; n < THREADS; n++) TRUE(pthread_create(&others[n], NULL, rounds, n == 0 ? &count : NULL) == 0);
        for (int n = 0; n < THREADS; n++) TRUE(pthread_join(others[n], NULL) == 0);
    }
    puts("done");
    return 0;
}
