/* Children that are forked by code of the program which the driver runs, while other threads use the driver: whatever lock they held
 * then is held for ever there. Each call that is on its way returns 3, and the driver's own thread ends. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 a)\n{\nret;\n}\n";
static volatile int stop;
static P context;

static void *busy(void *unused) {
    (void)unused;
    OK(cuCtxSetCurrent, context);
    while (!stop) {
        U memory = 0;
        OK(cuMemAlloc_v2, &memory, SIZE(64));
        OK(cuMemFree_v2, memory);
    }
    return NULL;
}

static pid_t child = -1;
static void forks(void *unused) {
    (void)unused;
    if (child < 0) child = fork();
}
static size_t forks_for(int size) {
    forks(NULL);
    return (size_t)size;
}

/* The parent waits until the child has ended as it should; the child is where `child` is 0. */
static void ends(const char *what) {
    int status = 0;
    for (int i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; i++) {
        if (i == 999) { kill(child, SIGKILL); fprintf(stderr, "%s: the child hangs\n", what); _exit(1); }
        usleep(10000);
    }
    if (status) { fprintf(stderr, "%s: the child's status is %x\n", what, status); _exit(1); }
    child = -1;
}

int main(void) {
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    P module, function, stream, object, graph;
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    OK(cuModuleLoadData, &module, ptx);
    OK(cuModuleGetFunction, &function, module, "k");
    OK(cuStreamCreate, &stream, 0);
    int (*destroy)(P) = get("cuGraphDestroy"), (*init)(unsigned) = get("cuInit");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, busy, NULL);
    for (int i = 0; i < 40; i++) {
        int grid, block;
        int got = CALL(cuOccupancyMaxPotentialBlockSize, &grid, &block, function, forks_for, SIZE(0), 0);
        if (child == 0) _exit(got != 3);
        TRUE(got == 0);
        ends("cuOccupancyMaxPotentialBlockSize");

        OK(cuUserObjectCreate, &object, NULL, forks, 1, 1);
        got = CALL(cuUserObjectRelease, object, 1);
        if (child == 0) _exit(got != 3);
        TRUE(got == 0);
        ends("cuUserObjectRelease");

        OK(cuGraphCreate, &graph, 0);
        forks(NULL);
        if (child == 0) _exit(CALL(cuGraphDestroy, graph) != 3);
        OK(cuGraphDestroy, graph);
        ends("cuGraphDestroy");

        /* no handler of pthread_atfork runs */
        child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) _exit(destroy(graph) != 3 || init(0) != 3);
        ends("cuGraphDestroy after a clone");

        OK(cuLaunchHostFunc, stream, forks, NULL);
        OK(cuStreamSynchronize, stream);
        ends("cuLaunchHostFunc");
    }
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    /* said at once: a child that ends on its own writes what was left */
    if (write(1, "all is well\n", 12) < 0) return 1;
    return 0;
}
