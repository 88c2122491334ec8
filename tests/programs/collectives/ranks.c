/* A rank of a job that calls collectives, by RANK and WORLD_SIZE. Its first argument is a mistake, which rank WRONG (the
 * last one) makes at step STEP (5) of 8; the second is the file through which the unique id goes. Without a mistake it
 * ends. With NVIDIA's own libnccl.so.2 it runs on the GPU of number LOCAL_RANK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nccl_stand_in.h"
#include <pthread.h>
#include <semaphore.h>

/* Older versions of NVIDIA's lack these. */
extern __typeof__(ncclCommGrow) ncclCommGrow __attribute__((weak));
extern __typeof__(ncclCommShrink) ncclCommShrink __attribute__((weak));
extern __typeof__(ncclCommInitRankScalable) ncclCommInitRankScalable __attribute__((weak));

#define CHECK(x) do { if (!(x)) { dprintf(2, "FAIL %s:%d: %s\n", __FILE__, __LINE__, #x); _exit(70); } } while (0)
typedef void *P;
int cuInit(unsigned flags), cuDevicePrimaryCtxRetain(P *context, int device), cuCtxSetCurrent(P context);
int cuProfilerStart(void), cuStreamCreate(P *stream, unsigned flags), cuStreamSynchronize(P stream), cuMemAlloc_v2(unsigned long long *at, size_t bytes);
int cuStreamBeginCapture_v2(P stream, int mode), cuStreamEndCapture(P stream, P *graph);
int cuGraphInstantiateWithFlags(P *executable, P graph, unsigned long long flags), cuGraphLaunch(P executable, P stream);

static int rank, ranks, wrong, wrong_step;
static const char *kind;
static P stream, other;
static P buffer;
static ncclComm_t world, second;

static int number(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text ? atoi(text) : otherwise;
}
static int is(const char *name) { return !strcmp(kind, name); }
/* This rank makes the mistake of this name, now. */
static int errs(const char *name, int step) { return is(name) && rank == wrong && step == wrong_step; }
static void all_reduce(size_t count, int type, int op, ncclComm_t comm, P on) {
    CHECK(ncclAllReduce(buffer, buffer, count, type, op, comm, on) == ncclSuccess);
}
static void synchronise(P on) { CHECK(cuStreamSynchronize(on) == 0); }

static ncclUniqueId unique_id(const char *path) {
    ncclUniqueId id;
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    if (rank == 0) {
        CHECK(ncclGetUniqueId(&id) == ncclSuccess);
        FILE *file = fopen(temporary, "w");
        CHECK(file && fwrite(&id, sizeof id, 1, file) == 1 && fclose(file) == 0 && rename(temporary, path) == 0);
        return id;
    }
    FILE *file;
    while (!(file = fopen(path, "r"))) usleep(1000);
    CHECK(fread(&id, sizeof id, 1, file) == 1);
    fclose(file);
    return id;
}

static void step(int n) {
    /* With a capture range, the recording of this rank begins here. */
    if (!strncmp(kind, "late", 4) && rank == wrong && n == 3) CHECK(cuProfilerStart() == 0);
    if (errs("killed", n)) raise(SIGKILL);
    if (errs("stopped", n)) raise(SIGSTOP);
    if (errs("missing", n)) for (;;) pause();
    if (errs("function", n)) {
        CHECK(ncclBroadcast(buffer, buffer, 1, ncclInt64, 0, world, stream) == ncclSuccess);
    } else if (!errs("skipped", n)) {
        int others = !strncmp(kind, "late", 4) ? 1024 + n : 1024;
        all_reduce(errs("count", n) || errs("late", n) ? 512 : others, errs("datatype", n) ? ncclFloat32 : ncclFloat16,
                   errs("operation", n) ? ncclMax : ncclSum, world, stream);
    }
    CHECK(ncclBroadcast(buffer, buffer, 8, ncclInt32, errs("root", n) ? 1 : 0, world, stream) == ncclSuccess);
    if (is("order")) {
        int reverse = errs("order", n);
        all_reduce(16, ncclFloat32, ncclSum, reverse ? second : world, stream);
        all_reduce(16, ncclFloat32, ncclSum, reverse ? world : second, stream);
    }
    if (is("transfers") || is("no_receive")) {
        int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
        CHECK(ncclGroupStart() == 0);
        CHECK(ncclSend(buffer, 32, ncclFloat32, next, world, stream) == 0);
        if (!errs("no_receive", n)) CHECK(ncclRecv(buffer, 32, ncclFloat32, before, world, stream) == 0);
        CHECK(ncclGroupEnd() == 0);
    }
    if (is("groups")) {
        CHECK(ncclGroupStart() == 0);
        all_reduce(64, ncclFloat32, ncclSum, world, stream);
        all_reduce(128, ncclFloat32, ncclSum, world, stream);
        CHECK(ncclGroupEnd() == 0);
    }
    if (second && (is("shrunk") || is("grown"))) all_reduce(32, ncclFloat32, ncclSum, second, stream);
    if (is("split")) CHECK(ncclReduceScatter(buffer, buffer, 4 + rank % 2, ncclFloat32, ncclSum, second, stream) == 0);
    if (is("failed") && rank == wrong)
        CHECK(ncclAllReduce(buffer, buffer, 1, 99, ncclSum, world, stream) == ncclInvalidArgument);
    if (n % 2 == 1 || is("order")) synchronise(stream);
    if (is("aborted") && n == 5) {
        if (rank != wrong) all_reduce(7, ncclFloat32, ncclSum, world, stream);
        usleep(100000);
        CHECK(ncclCommAbort(world) == ncclSuccess);
        synchronise(stream);
        exit(0);
    }
}

/* A thread of few calls: its records are written later than those of the main thread, which makes many. */
static sem_t is_asked, is_done;
static size_t asked_count;
static void *lone_thread(void *unused) {
    for (;;) {
        sem_wait(&is_asked);
        all_reduce(asked_count, ncclFloat32, ncclSum, world, stream);
        sem_post(&is_done);
    }
    return unused;
}

static void threads(P context) {
    pthread_t thread;
    CHECK(sem_init(&is_asked, 0, 0) == 0 && sem_init(&is_done, 0, 0) == 0);
    CHECK(pthread_create(&thread, 0, lone_thread, 0) == 0);
    for (size_t n = 0; n < 60; n++) {
        if (rank == wrong) {
            asked_count = 2 * n;
            sem_post(&is_asked);
            sem_wait(&is_done);
        } else {
            all_reduce(2 * n, ncclFloat32, ncclSum, world, stream);
        }
        for (int many = 0; many < 1000; many++) CHECK(cuCtxSetCurrent(context) == 0);
        all_reduce(2 * n + 1, ncclFloat32, ncclSum, world, stream);
        usleep(20000);
    }
}

/* All but the last rank have a smaller communicator, which grows by that one. */
static void grow(const char *path) {
    char path_of[4096];
    ncclComm_t smaller = 0;
    snprintf(path_of, sizeof path_of, "%s.smaller", path);
    if (rank != wrong) CHECK(ncclCommInitRank(&smaller, ranks - 1, unique_id(path_of), rank) == ncclSuccess);
    snprintf(path_of, sizeof path_of, "%s.grown", path);
    ncclUniqueId id = unique_id(path_of);
    CHECK(ncclCommGrow(smaller, ranks, &id, smaller ? -1 : rank, &second, 0) == ncclSuccess);
}

/* Four launches of a graph with three collectives. */
static void graph(void) {
    P captured, executable;
    CHECK(cuStreamBeginCapture_v2(stream, 0) == 0);
    for (int n = 1; n <= 3; n++) all_reduce(n, ncclFloat32, ncclSum, world, stream);
    CHECK(cuStreamEndCapture(stream, &captured) == 0);
    CHECK(cuGraphInstantiateWithFlags(&executable, captured, 0) == 0);
    for (int n = 0; n < 4; n++) CHECK(cuGraphLaunch(executable, stream) == 0);
}

static void one_process(void) {
    ncclComm_t all[2];
    P streams[2] = {stream, other};
    CHECK(ncclCommInitAll(all, 2, 0) == ncclSuccess);
    for (int n = 0; n < 8; n++) {
        CHECK(ncclGroupStart() == 0);
        for (int device = 0; device < 2; device++)
            all_reduce(is("one_process_count") && n == 5 && device == 1 ? 5 : 4, ncclFloat32, ncclSum, all[device], streams[device]);
        CHECK(ncclGroupEnd() == 0);
    }
    synchronise(streams[0]);
    synchronise(streams[1]);
}

int main(int argc, char **argv) {
    unsigned long long memory;
    P context;
    CHECK(argc > 2);
    kind = argv[1];
    rank = number("RANK", 0), ranks = number("WORLD_SIZE", 1);
    wrong = number("WRONG", ranks - 1);
    wrong_step = number("STEP", 5);
    alarm(120);
    CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, number("LOCAL_RANK", 0)) == 0 && cuCtxSetCurrent(context) == 0);
    CHECK(cuStreamCreate(&stream, 1) == 0 && cuStreamCreate(&other, 1) == 0 && cuMemAlloc_v2(&memory, 1 << 20) == 0);
    buffer = (P)(uintptr_t)memory;
    if (!strncmp(kind, "one_process", 11)) {
        one_process();
        return 0;
    }
    ncclUniqueId id = unique_id(argv[2]);
    if (is("before_init")) CHECK(ncclAllReduce(buffer, buffer, 1, ncclInt32, ncclSum, 0, stream) == ncclInvalidArgument);
    if (is("no_init") && rank == wrong) for (;;) pause();
    if (is("nonblocking")) {
        struct ncclConfig config = {sizeof config, 0xcafebeef, 22703, 0};
        int error = ncclInProgress;
        CHECK(ncclCommInitRankConfig(&world, ranks, id, rank, &config) == ncclInProgress);
        while (ncclCommGetAsyncError(world, &error) == 0 && error == ncclInProgress) usleep(1000);
    } else if (is("scalable")) {
        ncclUniqueId ids[2] = {id, id};
        CHECK(ncclCommInitRankScalable(&world, ranks, rank, 2, ids, 0) == ncclSuccess);
    } else {
        CHECK(ncclCommInitRank(&world, ranks, id, rank) == ncclSuccess);
    }
    if (is("shrunk") && rank != wrong) CHECK(ncclCommShrink(world, &wrong, 1, &second, 0, 0) == ncclSuccess);
    if (is("grown")) grow(argv[2]);
    if (is("order")) CHECK(ncclCommSplit(world, 0, rank, &second, 0) == ncclSuccess);
    if (is("split")) CHECK(ncclCommSplit(world, rank % 2, -rank, &second, 0) == ncclSuccess);
    if (is("threads")) threads(context);
    for (int n = 0; n < 8; n++) step(n);
    if (is("graph")) graph();
    synchronise(stream);
    CHECK(ncclCommDestroy(world) == ncclSuccess);
    return 0;
}
