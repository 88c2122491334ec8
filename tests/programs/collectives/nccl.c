/* In the place of libnccl.so.2, for ranks that are processes of one machine and for the simulated driver. A collective
 * is a function of the host in its stream. It ends when all ranks have reached the call of that number with the same
 * arguments; else it waits for ever, as kernels of NCCL do. Ranks meet in shared memory that has the name of the unique
 * id. No data moves. Groups begin their calls at the end of the outermost group, and abort ends what this rank waits for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include "nccl_stand_in.h"

enum { RANKS = 16, KEPT = 64, OPS = 64, NO_COLOR = -1 };
typedef unsigned long long U;

/* What the ranks of a communicator share. All of it begins with zeros. */
struct meeting {
    _Atomic int joined, gone;
    _Atomic U called[RANKS], signature[RANKS][KEPT];
    _Atomic U split[RANKS];
    _Atomic int color[RANKS][KEPT], key[RANKS][KEPT];
    _Atomic U sent[RANKS][RANKS], received[RANKS][RANKS], send[RANKS][RANKS][KEPT], receive[RANKS][RANKS][KEPT];
};

struct ncclComm {
    struct meeting *meeting;
    char name[64];
    int ranks, rank, blocking;
    U calls, splits, sends[RANKS], receives[RANKS];
    _Atomic int aborted;
};

/* A call of a group. */
struct op {
    struct ncclComm *comm;
    void *stream;
    int peer, is_send;
    U number, signature;
    /* In a graph: it gets its number when it runs. */
    int is_captured;
};

struct ops {
    int count;
    struct op all[OPS];
};

/* The ranks of one process come together: the simulated driver calls its host functions one by one. */
struct group {
    _Atomic int arrived, parts;
    struct ops ops;
};

/* The calls of a group in one stream. */
struct part {
    struct group *group;
    struct ops ops;
};

static __thread int depth;
static __thread struct ops queued;
static __thread struct ncclComm *starts[RANKS];
static __thread int starting;

/* Longer each time: what hangs costs no processor. */
static void nap(unsigned *slept) {
    *slept = *slept == 0 ? 50 : *slept < 20000 ? *slept * 2 : *slept;
    usleep(*slept);
}

static void *driver(const char *function) {
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? dlsym(library, function) : 0;
}

static int enqueue(void *stream, void (*function)(void *), void *data) {
    int (*launch)(void *, void (*)(void *), void *) = (int (*)(void *, void (*)(void *), void *))driver("cuLaunchHostFunc");
    return launch && launch(stream, function, data) == 0 ? ncclSuccess : ncclUnhandledCudaError;
}

/* With NCCL_STAND_IN_COPIES a collective is work of the GPU too, a copy within the buffer of the stand-in. */
static int copy(void *stream) {
    static U from;
    int (*allocate)(U *, size_t) = (int (*)(U *, size_t))driver("cuMemAlloc_v2");
    int (*copies)(U, U, size_t, void *) = (int (*)(U, U, size_t, void *))driver("cuMemcpyDtoDAsync_v2");
    if (!getenv("NCCL_STAND_IN_COPIES")) return ncclSuccess;
    if (!from && allocate(&from, 8192) != 0) return ncclUnhandledCudaError;
    return copies(from + 4096, from, 4096, stream) == 0 ? ncclSuccess : ncclUnhandledCudaError;
}

static int is_capturing(void *stream) {
    int status = 0, (*ask)(void *, int *) = (int (*)(void *, int *))driver("cuStreamIsCapturing");
    return ask && ask(stream, &status) == 0 && status == 1;
}

static struct meeting *meet(const char *name) {
    int file = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct meeting)) != 0) return 0;
    struct meeting *meeting = mmap(0, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return meeting == MAP_FAILED ? 0 : meeting;
}

static struct ncclComm *make(const char *name, int ranks, int rank) {
    if (ranks < 1 || ranks > RANKS || rank < 0 || rank >= ranks) return 0;
    struct ncclComm *comm = calloc(1, sizeof *comm);
    snprintf(comm->name, sizeof comm->name, "%s", name);
    comm->ranks = ranks, comm->rank = rank, comm->blocking = 1;
    comm->meeting = meet(name);
    if (comm->meeting && ++comm->meeting->joined == ranks) shm_unlink(name);
    return comm->meeting ? comm : 0;
}

static void wait_for_all(struct ncclComm *comm) {
    unsigned slept = 0;
    while (comm->blocking && comm->meeting->joined < comm->ranks && !comm->aborted) nap(&slept);
}

/* Whether the call may end: all ranks are there with the same. */
static int is_done(const struct op *op) {
    const struct ncclComm *comm = op->comm;
    struct meeting *m = comm->meeting;
    int slot = op->number % KEPT;
    if (comm->aborted) return 1;
    if (op->peer >= 0) {
        int from = op->is_send ? comm->rank : op->peer, to = op->is_send ? op->peer : comm->rank;
        return m->sent[from][to] > op->number && m->received[from][to] > op->number &&
               m->send[from][to][slot] == m->receive[from][to][slot];
    }
    for (int rank = 0; rank < comm->ranks; rank++)
        if (m->called[rank] <= op->number || m->signature[rank][slot] != op->signature) return 0;
    return 1;
}

static void arrive(const struct op *op) {
    struct meeting *m = op->comm->meeting;
    int slot = op->number % KEPT, rank = op->comm->rank;
    if (op->peer >= 0 && op->is_send) {
        m->send[rank][op->peer][slot] = op->signature;
        m->sent[rank][op->peer] = op->number + 1;
    } else if (op->peer >= 0) {
        m->receive[op->peer][rank][slot] = op->signature;
        m->received[op->peer][rank] = op->number + 1;
    } else {
        m->signature[rank][slot] = op->signature;
        m->called[rank] = op->number + 1;
    }
}

/* Runs in the stream at each launch of a graph. */
static void run_again(const struct ops *captured) {
    struct ops ops = *captured;
    unsigned slept = 0;
    for (int n = 0; n < ops.count; n++) {
        ops.all[n].number = ops.all[n].comm->calls++;
        arrive(&ops.all[n]);
        while (!is_done(&ops.all[n])) nap(&slept);
    }
}

/* Runs in the stream. */
static void run(void *data) {
    struct part *part = data;
    struct group *group = part->group;
    if (part->ops.all[0].is_captured) return run_again(&part->ops);
    if (!atomic_exchange(&group->arrived, 1))
        for (int n = 0; n < group->ops.count; n++) arrive(&group->ops.all[n]);
    unsigned slept = 0;
    for (int n = 0; n < part->ops.count; n++)
        while (!is_done(&part->ops.all[n])) nap(&slept);
    free(part);
    if (--group->parts == 0) free(group);
}

static int flush(void) {
    int result = ncclSuccess;
    for (int n = 0; n < starting; n++) wait_for_all(starts[n]);
    starting = 0;
    if (queued.count == 0) return result;
    struct group *group = calloc(1, sizeof *group);
    group->ops = queued;
    group->parts = 1;
    while (queued.count > 0) {
        struct part *part = calloc(1, sizeof *part);
        void *stream = queued.all[0].stream;
        int others = 0;
        for (int n = 0; n < queued.count; n++)
            if (queued.all[n].stream == stream) part->ops.all[part->ops.count++] = queued.all[n];
            else queued.all[others++] = queued.all[n];
        queued.count = others;
        part->group = group;
        group->parts++;
        if (result == ncclSuccess) result = enqueue(stream, run, part);
        if (result == ncclSuccess) result = copy(stream);
    }
    if (--group->parts == 0) free(group);
    return result;
}

int ncclGroupStart(void) { return depth++, ncclSuccess; }
int ncclGroupEnd(void) {
    if (depth == 0) return ncclInvalidUsage;
    return --depth ? ncclSuccess : flush();
}

static int put(struct op op) {
    if (!op.comm || queued.count == OPS) return ncclInvalidArgument;
    queued.all[queued.count++] = op;
    return depth ? ncclSuccess : flush();
}

static int collective(U function, size_t count, int type, U reduction, U root, struct ncclComm *comm, void *stream) {
    if (!comm || type < 0 || type > 11) return ncclInvalidArgument;
    U signature = function << 56 | (U)type << 48 | reduction << 40 | root << 32 | (uint32_t)count;
    struct op op = {.comm = comm, .stream = stream, .peer = -1, .signature = signature};
    op.is_captured = is_capturing(stream);
    if (!op.is_captured) op.number = comm->calls++;
    return put(op);
}

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, struct ncclComm *comm, void *stream) {
    return (void)send, (void)recv, collective(1, count, type, op, 0, comm, stream);
}
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, struct ncclComm *comm, void *stream) {
    return (void)send, (void)recv, collective(2, count, type, 0, root, comm, stream);
}
int ncclBcast(void *buffer, size_t count, int type, int root, struct ncclComm *comm, void *stream) {
    return (void)buffer, collective(2, count, type, 0, root, comm, stream);
}
int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, struct ncclComm *comm, void *stream) {
    return (void)send, (void)recv, collective(3, count, type, op, root, comm, stream);
}
int ncclAllGather(const void *send, void *recv, size_t count, int type, struct ncclComm *comm, void *stream) {
    return (void)send, (void)recv, collective(4, count, type, 0, 0, comm, stream);
}
int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, struct ncclComm *comm, void *stream) {
    return (void)send, (void)recv, collective(5, count, type, op, 0, comm, stream);
}

static int transfer(int is_send, size_t count, int type, int peer, struct ncclComm *comm, void *stream) {
    if (!comm || peer < 0 || peer >= comm->ranks) return ncclInvalidArgument;
    U number = is_send ? comm->sends[peer]++ : comm->receives[peer]++;
    U signature = (U)type << 48 | (uint32_t)count;
    return put((struct op){comm, stream, peer, is_send, number, signature, 0});
}
int ncclSend(const void *send, size_t count, int type, int peer, struct ncclComm *comm, void *stream) {
    return (void)send, transfer(1, count, type, peer, comm, stream);
}
int ncclRecv(void *recv, size_t count, int type, int peer, struct ncclComm *comm, void *stream) {
    return (void)recv, transfer(0, count, type, peer, comm, stream);
}

int ncclGetVersion(int *version) { return *version = 22703, ncclSuccess; }
int ncclGetUniqueId(ncclUniqueId *id) {
    memset(id, 0, sizeof *id);
    return getrandom(id, 8, 0) == 8 ? ncclSuccess : ncclSystemError;
}

static int start(struct ncclComm **to, int ranks, ncclUniqueId id, int rank, int blocking) {
    char name[32];
    U number;
    memcpy(&number, &id, sizeof number);
    snprintf(name, sizeof name, "/nccl-stand-in-%016llx", number);
    struct ncclComm *comm = make(name, ranks, rank);
    if (!comm) return ncclInvalidArgument;
    comm->blocking = blocking;
    if (!blocking) return *to = comm, ncclInProgress;
    if (starting == RANKS) return ncclInvalidUsage;
    starts[starting++] = comm;
    *to = comm;
    return depth ? ncclSuccess : flush();
}
int ncclCommInitRank(struct ncclComm **comm, int ranks, ncclUniqueId id, int rank) {
    return start(comm, ranks, id, rank, 1);
}
int ncclCommInitRankConfig(struct ncclComm **comm, int ranks, ncclUniqueId id, int rank, const struct ncclConfig *config) {
    return start(comm, ranks, id, rank, !config || config->blocking != 0);
}
int ncclCommInitAll(struct ncclComm **comms, int devices, const int *list) {
    ncclUniqueId id;
    (void)list;
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for (int rank = 0; rank < devices; rank++)
        if (start(&comms[rank], devices, id, rank, 1)) return ncclInvalidArgument;
    return ncclGroupEnd();
}

int ncclCommSplit(struct ncclComm *comm, int color, int key, struct ncclComm **to, void *config) {
    (void)config;
    if (!comm) return ncclInvalidArgument;
    struct meeting *m = comm->meeting;
    U number = comm->splits++;
    int slot = number % KEPT, ranks = 0, rank = 0;
    unsigned slept = 0;
    m->color[comm->rank][slot] = color;
    m->key[comm->rank][slot] = key;
    m->split[comm->rank] = number + 1;
    for (int peer = 0; peer < comm->ranks; peer++) {
        while (m->split[peer] <= number && !comm->aborted) nap(&slept);
        if (m->color[peer][slot] != color) continue;
        ranks++;
        rank += m->key[peer][slot] < key || (m->key[peer][slot] == key && peer < comm->rank);
    }
    *to = 0;
    if (color == NO_COLOR) return ncclSuccess;
    char name[sizeof comm->name + 32];
    snprintf(name, sizeof name, "%s-%llu-%d", comm->name, number, color);
    *to = make(name, ranks, rank);
    if (!*to) return ncclSystemError;
    wait_for_all(*to);
    return ncclSuccess;
}

int ncclCommInitRankScalable(struct ncclComm **to, int ranks, int rank, int id_count, ncclUniqueId *ids, struct ncclConfig *config) {
    (void)config;
    return id_count < 1 ? ncclInvalidArgument : start(to, ranks, ids[0], rank, 1);
}
int ncclCommShrink(struct ncclComm *comm, int *excluded, int excluded_count, struct ncclComm **to, struct ncclConfig *config, int flags) {
    (void)config, (void)flags;
    if (!comm) return ncclInvalidArgument;
    char name[sizeof comm->name + 32];
    int before = 0;
    for (int n = 0; n < excluded_count; n++) {
        if (excluded[n] == comm->rank) return ncclInvalidUsage;
        before += excluded[n] < comm->rank;
    }
    snprintf(name, sizeof name, "%s-shrunk-%llu", comm->name, comm->splits++);
    *to = make(name, comm->ranks - excluded_count, comm->rank - before);
    if (!*to) return ncclSystemError;
    wait_for_all(*to);
    return ncclSuccess;
}
/* Ranks that are in the smaller one pass it, and no rank. */
int ncclCommGrow(struct ncclComm *comm, int ranks, const ncclUniqueId *id, int rank, struct ncclComm **to, struct ncclConfig *config) {
    (void)config;
    return id ? start(to, ranks, *id, comm ? comm->rank : rank, 1) : ncclInvalidArgument;
}

int ncclCommCount(const struct ncclComm *comm, int *count) { return *count = comm->ranks, ncclSuccess; }
int ncclCommUserRank(const struct ncclComm *comm, int *rank) { return *rank = comm->rank, ncclSuccess; }
int ncclCommGetAsyncError(struct ncclComm *comm, int *error) {
    *error = comm->meeting->joined < comm->ranks ? ncclInProgress : ncclSuccess;
    return ncclSuccess;
}
int ncclCommFinalize(struct ncclComm *comm) { return comm ? ncclSuccess : ncclInvalidArgument; }
/* Its memory stays: functions in streams may look at it. */
int ncclCommDestroy(struct ncclComm *comm) { return comm ? ncclSuccess : ncclInvalidArgument; }
int ncclCommAbort(struct ncclComm *comm) {
    if (!comm) return ncclInvalidArgument;
    comm->aborted = 1;
    return ncclSuccess;
}
