/* Hard use of a driver: faults, threads, objects that come and go, kernels that do not end. It prints results that are the
 * same with every driver, and the bytes of memory that are not given back. The prototypes are written out, so that no
 * header of CUDA is needed.
 *
 *     hard_use CUBIN short|threads|churn [computed [ROUNDS]]
 *     hard_use CUBIN address|unmapped|misaligned|trapped|asserts
 *     hard_use CUBIN endless           until it is killed
 *
 * CUBIN is faults-ptxas-12.9-sm_90.cubin of crates/cudest/tests/cubins. With `computed` results of kernels are checked:
 * on a GPU, not on the model of the kernel driver. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t dptr;
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *ctx);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(dptr *out, size_t bytes);
int cuMemAllocAsync(dptr *out, size_t bytes, void *stream);
int cuMemAllocHost_v2(void **out, size_t bytes);
int cuMemFree_v2(dptr p);
int cuMemFreeAsync(dptr p, void *stream);
int cuMemFreeHost(void *p);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *all);
int cuMemcpyHtoDAsync_v2(dptr to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoH_v2(void *to, dptr from, size_t bytes);
int cuMemcpyDtoHAsync_v2(void *to, dptr from, size_t bytes, void *stream);
int cuMemsetD32Async(dptr to, unsigned value, size_t count, void *stream);
int cuModuleLoad(void **module, const char *path);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamQuery(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventDestroy_v2(void *event);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra);

#define OK(call)                                                      \
    do {                                                              \
        int code_ = (call);                                           \
        if (code_ != 0) {                                             \
            printf("%s = %d (line %d)\n", #call, code_, __LINE__);    \
            exit(2);                                                  \
        }                                                             \
    } while (0)

enum { WORDS = 1 << 14, THREADS = 64 };
static int is_computed, rounds;
static void *context, *module;
static const char *cubin;

static void *function_of(const char *name) {
    void *function;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

static int launch(void *function, dptr at, void *stream) {
    return cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, (void *[]){&at}, NULL);
}

static void short_run(void) {
    static unsigned words[WORDS];
    dptr at;
    void *add = function_of("add"), *stream;
    OK(cuStreamCreate(&stream, 1));
    OK(cuMemAlloc_v2(&at, sizeof words));
    for (int n = 0; n < WORDS; n++) words[n] = 3 * n;
    OK(cuMemcpyHtoDAsync_v2(at, words, sizeof words, stream));
    for (int n = 0; n < 5; n++) OK(launch(add, at, stream));
    OK(cuMemcpyDtoHAsync_v2(words, at, sizeof words, stream));
    OK(cuStreamSynchronize(stream));
    unsigned right = 0;
    for (unsigned n = 0; n < WORDS; n++) right += words[n] == 3 * n + (is_computed ? 5 : 0);
    printf("right: %d\n", right == WORDS);
    OK(cuMemFree_v2(at));
}

struct own {
    unsigned number, calls, right;
    dptr at;
    void *stream;
};

static void count_call(void *data) { ++((struct own *)data)->calls; }

/* A thread with a stream of its own: launches, copies, functions of the host, events that the next thread waits for. */
static void *own_thread(void *data) {
    static void *last_event;
    struct own *own = data;
    unsigned *words = malloc(WORDS * 4), first = own->number;
    void *event, *add, *foreign;
    OK(cuCtxSetCurrent(context));
    add = function_of("add");
    OK(cuStreamCreate(&own->stream, own->number % 2));
    OK(cuMemAlloc_v2(&own->at, WORDS * 4));
    OK(cuEventCreate(&event, 2));
    OK(cuMemsetD32Async(own->at, first, WORDS, own->stream));
    for (int round = 0; round < rounds; round++) {
        for (int n = 0; n < 10; n++) OK(launch(add, own->at, own->stream));
        if (round % 10 == 0) OK(cuLaunchHostFunc(own->stream, count_call, own));
        OK(cuEventRecord(event, own->stream));
        foreign = __atomic_exchange_n(&last_event, event, __ATOMIC_ACQ_REL);
        if (foreign && foreign != event) OK(cuStreamWaitEvent(own->stream, foreign, 0));
        if (round % 7 == 0) OK(cuStreamSynchronize(own->stream));
    }
    OK(cuMemcpyDtoHAsync_v2(words, own->at, WORDS * 4, own->stream));
    OK(cuStreamSynchronize(own->stream));
    for (int n = 0; n < WORDS; n++) own->right += words[n] == first + (is_computed ? 10 * rounds : 0);
    free(words);
    return NULL;
}

static void threads(void) {
    static struct own all[THREADS];
    pthread_t ids[THREADS];
    unsigned right = 0, calls = 0;
    for (unsigned n = 0; n < THREADS; n++) {
        all[n].number = n;
        pthread_create(&ids[n], NULL, own_thread, &all[n]);
    }
    for (int n = 0; n < THREADS; n++) {
        pthread_join(ids[n], NULL);
        right += all[n].right == WORDS, calls += all[n].calls;
        OK(cuMemFree_v2(all[n].at));
        OK(cuStreamDestroy_v2(all[n].stream));
    }
    printf("threads right: %u of %d, functions of the host: %u\n", right, THREADS, calls);
}

/* Objects that come and go. */
static void churn_round(int round) {
    void *one, *streams[8], *events[16], *pages, *own;
    dptr at[16], pooled;
    OK(cuModuleLoad(&one, cubin));
    OK(cuModuleGetFunction(&own, one, "add"));
    for (int n = 0; n < 8; n++) OK(cuStreamCreate(&streams[n], n % 2));
    for (int n = 0; n < 16; n++) OK(cuEventCreate(&events[n], n % 2 * 2));
    for (int n = 0; n < 16; n++) OK(cuMemAlloc_v2(&at[n], WORDS * 4 + ((size_t)(round * 7 + n) % 19 << 18)));
    OK(cuMemAllocHost_v2(&pages, 1 << 20));
    for (int n = 0; n < 16; n++) {
        void *stream = streams[n % 8];
        OK(cuMemsetD32Async(at[n], n, WORDS, stream));
        OK(launch(own, at[n], stream));
        OK(cuEventRecord(events[n], stream));
        OK(cuMemAllocAsync(&pooled, 1 << 20, stream));
        OK(cuMemsetD32Async(pooled, n, 1 << 18, stream));
        OK(cuMemFreeAsync(pooled, stream));
    }
    for (int n = 0; n < 8; n++) OK(cuStreamDestroy_v2(streams[n]));
    for (int n = 0; n < 16; n++) OK(cuEventSynchronize(events[n]));
    for (int n = 0; n < 16; n++) OK(cuEventDestroy_v2(events[n]));
    for (int n = 0; n < 16; n++) OK(cuMemFree_v2(at[n]));
    OK(cuMemFreeHost(pages));
    OK(cuModuleUnload(one));
}

static void churn(void) {
    size_t before, after, all;
    for (int round = 0; round < 20 && round < rounds; round++) churn_round(round);
    OK(cuCtxSynchronize());
    OK(cuMemGetInfo_v2(&before, &all));
    for (int round = 0; round < rounds; round++) churn_round(round);
    OK(cuCtxSynchronize());
    OK(cuMemGetInfo_v2(&after, &all));
    /* Another process may use the GPU too: a leak of many rounds is larger than this. */
    printf("memory came back: %d\n", after + (64 << 20) >= before);
    if (after < before) fprintf(stderr, "%zu bytes fewer\n", before - after);
}

/* A kernel that ends with an error: this and all later calls say so. */
static void fault(const char *name) {
    dptr at, more;
    unsigned word;
    void *bad = function_of(strcmp(name, "trapped") && strcmp(name, "asserts") ? "add" : name), *add = function_of("add");
    void *stream, *other;
    OK(cuStreamCreate(&stream, 1));
    OK(cuMemAlloc_v2(&at, WORDS * 4));
    OK(cuMemsetD32Async(at, 0, WORDS, stream));
    OK(cuStreamSynchronize(stream));
    dptr wrong = strcmp(name, "address") == 0 ? 0x10 : strcmp(name, "unmapped") == 0 ? at + ((dptr)1 << 40)
                 : strcmp(name, "misaligned") == 0 ? at + 2 : at;
    printf("launch: %d\n", launch(bad, wrong, stream));
    printf("wait: %d\n", cuStreamSynchronize(stream));
    printf("query: %d\n", cuStreamQuery(stream));
    printf("context: %d\n", cuCtxSynchronize());
    printf("another launch: %d\n", launch(add, at, stream));
    printf("a copy: %d\n", cuMemcpyDtoH_v2(&word, at, 4));
    printf("an allocation: %d\n", cuMemAlloc_v2(&more, 4096));
    printf("a stream: %d\n", cuStreamCreate(&other, 1));
    printf("a free: %d\n", cuMemFree_v2(at));
}

static void endless(void) {
    static unsigned words[WORDS];
    dptr at;
    OK(cuMemAlloc_v2(&at, sizeof words));
    OK(cuMemsetD32Async(at, 0, WORDS, NULL));
    OK(launch(function_of("endless"), at, NULL));
    puts("running");
    pause();
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc < 3) return 1;
    const char *mode = argv[2];
    cubin = argv[1];
    is_computed = argc > 3 && strcmp(argv[3], "computed") == 0;
    rounds = argc > 4 ? atoi(argv[4]) : 300;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoad(&module, cubin));
    if (strcmp(mode, "short") == 0) short_run();
    else if (strcmp(mode, "threads") == 0) threads();
    else if (strcmp(mode, "churn") == 0) churn();
    else if (strcmp(mode, "endless") == 0) endless();
    else {
        fault(mode);
        return 7;
    }
    OK(cuDevicePrimaryCtxRelease_v2(0));
    return 7;
}
