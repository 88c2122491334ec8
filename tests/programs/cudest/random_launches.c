/* 10,000 random launches on four streams, among them copies, sets, events, waits and functions of the host. Every result
 * depends on data that only the GPU computed: a word becomes a sum of other buffers, which other launches changed
 * before. Prints a digest of all memory, the same with every driver, and whether the CPU gets the same.
 *
 *     random_launches CUBIN [computed [SEED [LAUNCHES]]]
 *
 * Without `computed` kernels have no effect, as on the model of the kernel driver; copies and sets have theirs. The
 * prototypes are written out, so that no header of CUDA is needed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t dptr;
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *ctx);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(dptr *out, size_t bytes);
int cuMemAllocHost_v2(void **out, size_t bytes);
int cuMemFree_v2(dptr p);
int cuMemcpyHtoD_v2(dptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, dptr from, size_t bytes);
int cuMemcpyHtoDAsync_v2(dptr to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(dptr to, dptr from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, dptr from, size_t bytes, void *stream);
int cuMemsetD32Async(dptr to, unsigned value, size_t count, void *stream);
int cuModuleLoad(void **module, const char *path);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuFuncSetAttribute(void *function, int attribute, int value);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuFuncSetBlockShape(void *f, int x, int y, int z);
int cuParamSetv(void *f, int offset, void *value, unsigned bytes);
int cuParamSeti(void *f, int offset, unsigned value);
int cuParamSetSize(void *f, unsigned bytes);
int cuLaunchGridAsync(void *f, int width, int height, void *stream);
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

enum { STREAMS = 4, BUFFERS = 8, WORDS = 1 << 16, EVENTS = 64, MOST_SHARED_WORDS = 50000, LARGE = 8184 };
enum { STEP, REVERSE, SUM, WHO, INDIRECT, PARAMETERS, SPIN, KERNELS };
static const char *const NAMES[KERNELS] = {"step", "revdynamic", "sum", "who", "indirect", "large", "spin"};

static uint64_t seed = 1;
static int is_computed;
static unsigned on_cpu[BUFFERS][WORDS], got[WORDS], *pinned;
static dptr on_gpu[BUFFERS];
static void *streams[STREAMS], *events[EVENTS], *kernels[KERNELS];
static int last_stream[BUFFERS], next_event, launches[KERNELS], other_work;

/* splitmix64: the same numbers everywhere. */
static unsigned below(unsigned end) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (unsigned)((z ^ (z >> 31)) >> 32) % end;
}

static uint64_t digest_of(const void *bytes, size_t size, uint64_t digest) {
    for (size_t n = 0; n < size; n++) digest = (digest ^ ((const unsigned char *)bytes)[n]) * 0x100000001b3;
    return digest;
}

/* Work of a stream on a buffer comes after the last work on it, which may be of another stream. */
static void *ordered(int stream, int buffer) {
    if (last_stream[buffer] != stream) {
        void *event = events[next_event++ % EVENTS];
        OK(cuEventRecord(event, streams[last_stream[buffer]]));
        OK(cuStreamWaitEvent(streams[stream], event, 0));
        last_stream[buffer] = stream;
    }
    return streams[stream];
}

static void launch(int kernel, unsigned grid, unsigned block, unsigned shared, void *stream, void **params) {
    launches[kernel]++;
    OK(cuLaunchKernel(kernels[kernel], grid, 1, 1, block, 1, 1, shared, stream, params, NULL));
}

static void one_launch(int stream) {
    static struct { unsigned word[LARGE]; } large;
    int to = below(BUFFERS), from = (to + 1 + below(BUFFERS - 1)) % BUFFERS;
    unsigned *out = on_cpu[to], choice = below(100), k = below(1 << 20), block, n, words;
    void *own = ordered(stream, to);
    dptr at = on_gpu[to];
    if (choice < 50) {
        n = below(4) ? WORDS : 1 + below(WORDS), block = 1 + below(1024);
        int count = n;
        if (choice < 5) {
            /* As programs did before CUDA 4.0. */
            void *f = kernels[STEP];
            OK(cuFuncSetBlockShape(f, block, 1, 1));
            OK(cuParamSetv(f, 0, &at, 8));
            OK(cuParamSeti(f, 8, k));
            OK(cuParamSeti(f, 12, n));
            OK(cuParamSetSize(f, 16));
            OK(cuLaunchGridAsync(f, (n + block - 1) / block, 1, own));
            launches[STEP]++;
        } else {
            launch(STEP, (n + block - 1) / block, block, 0, own, (void *[]){&at, &k, &count});
        }
        for (unsigned i = 0; is_computed && i < n; i++) out[i] = out[i] * 3 + k;
    } else if (choice < 65) {
        block = 32 << below(6), words = block + below(MOST_SHARED_WORDS - block), n = 1 + below(WORDS / block);
        int count = words;
        launch(REVERSE, n, block, words * 4, own, (void *[]){&at, &count});
        for (unsigned b = 0; is_computed && b < n; b++)
            for (unsigned t = 0; t < block / 2; t++) {
                unsigned *first = &out[b * block + t], *last = &out[b * block + block - 1 - t], swapped = *first;
                *first = *last, *last = swapped;
            }
    } else if (choice < 85) {
        /* The sum of one buffer goes into two words of another. */
        uint64_t sum = 0, word;
        unsigned place = 2 * below(WORDS / 2);
        ordered(stream, from);
        n = 1 + below(WORDS), at += place * 4;
        int count = n;
        launch(SUM, 1 + below(64), 256, 0, own, (void *[]){&on_gpu[from], &at, &count});
        for (unsigned i = 0; is_computed && i < n; i++) sum += on_cpu[from][i];
        memcpy(&word, out + place, 8), word += sum, memcpy(out + place, &word, 8);
    } else if (choice < 90) {
        unsigned sides[6], threads, blocks;
        for (int i = 0; i < 3; i++) sides[i] = 1 + below(3), sides[3 + i] = 1 + below(8);
        blocks = sides[0] * sides[1] * sides[2], threads = sides[3] * sides[4] * sides[5];
        launches[WHO]++;
        OK(cuLaunchKernel(kernels[WHO], sides[0], sides[1], sides[2], sides[3], sides[4], sides[5], 0, own, (void *[]){&at},
                          NULL));
        for (unsigned i = 0; is_computed && i < blocks * threads; i++) out[i] = (i / threads) << 12 | i % threads;
    } else if (choice < 93) {
        int which = below(2);
        block = 1 + below(1024);
        launch(INDIRECT, 1, block, 0, own, (void *[]){&at, &which});
        for (unsigned i = 0; is_computed && i < block; i++) out[i] = i * (which ? 3 : 2) + 2;
    } else if (choice < 96) {
        for (int i = 0; i < LARGE; i += 1 + below(100)) large.word[i] = below(1u << 31);
        launch(PARAMETERS, 1, 32 << below(6), 0, own, (void *[]){&large, &at});
        for (int i = 0; is_computed && i < LARGE; i++) out[i] = large.word[i] + 1;
    } else {
        unsigned long long ns = 1000 + below(50000);
        dptr none = 0;
        launch(SPIN, 1 + below(200), 32, 0, own, (void *[]){&ns, &none});
    }
}

static void count_call(void *data) { ++*(unsigned *)data; }

/* A copy, a set, a wait or a function of the host, which none of the launches is. */
static void other(int stream) {
    int to = below(BUFFERS), from = (to + 1 + below(BUFFERS - 1)) % BUFFERS;
    unsigned choice = below(100), n = 1 + below(4096), place = below(WORDS - n), source = below(WORDS - n), value;
    void *own = ordered(stream, to);
    other_work++;
    if (choice < 35) {
        ordered(stream, from);
        OK(cuMemcpyDtoDAsync_v2(on_gpu[to] + place * 4, on_gpu[from] + source * 4, n * 4, own));
        memcpy(on_cpu[to] + place, on_cpu[from] + source, n * 4);
    } else if (choice < 60) {
        value = below(1u << 31);
        OK(cuMemsetD32Async(on_gpu[to] + place * 4, value, n, own));
        for (unsigned i = 0; i < n; i++) on_cpu[to][place + i] = value;
    } else if (choice < 75) {
        /* Memory of the program that no GPU knows: its bytes may change as soon as the call returns. */
        unsigned line[256];
        n = 1 + n % 256;
        for (unsigned i = 0; i < n; i++) line[i] = below(1u << 31);
        OK(cuMemcpyHtoDAsync_v2(on_gpu[to] + place * 4, line, n * 4, own));
        memcpy(on_cpu[to] + place, line, n * 4);
        memset(line, 0, sizeof line);
    } else if (choice < 90) {
        OK(cuMemcpyDtoHAsync_v2(pinned + 4096 * to, on_gpu[to] + place * 4, n * 4, own));
    } else if (choice < 97) {
        OK(cuLaunchHostFunc(own, count_call, pinned + 4096 * BUFFERS + stream));
    } else {
        OK(cuStreamSynchronize(streams[below(STREAMS)]));
    }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    void *ctx, *module;
    if (argc < 2) return 1;
    is_computed = argc > 2 && strcmp(argv[2], "computed") == 0;
    if (argc > 3) seed = strtoull(argv[3], NULL, 0);
    int all = argc > 4 ? atoi(argv[4]) : 10000;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    OK(cuModuleLoad(&module, argv[1]));
    for (int n = 0; n < KERNELS; n++) OK(cuModuleGetFunction(&kernels[n], module, NAMES[n]));
    OK(cuFuncSetAttribute(kernels[REVERSE], 8, MOST_SHARED_WORDS * 4));
    for (int n = 0; n < STREAMS; n++) OK(cuStreamCreate(&streams[n], n % 2));
    for (int n = 0; n < EVENTS; n++) OK(cuEventCreate(&events[n], n % 2 ? 2 : 0));
    OK(cuMemAllocHost_v2((void **)&pinned, (4096 * BUFFERS + STREAMS) * 4));
    memset(pinned + 4096 * BUFFERS, 0, STREAMS * 4);
    for (int n = 0; n < BUFFERS; n++) {
        for (int i = 0; i < WORDS; i++) on_cpu[n][i] = below(1u << 31);
        OK(cuMemAlloc_v2(&on_gpu[n], WORDS * 4));
        OK(cuMemcpyHtoD_v2(on_gpu[n], on_cpu[n], WORDS * 4));
    }
    OK(cuCtxSynchronize());
    for (int n = 0; n < all; n++) {
        int stream = below(STREAMS);
        one_launch(stream);
        if (below(10) == 0) other(below(STREAMS));
    }
    OK(cuCtxSynchronize());
    unsigned calls = 0, same = 0;
    for (int n = 0; n < STREAMS; n++) calls += pinned[4096 * BUFFERS + n];
    uint64_t digest = 0xcbf29ce484222325;
    for (int n = 0; n < BUFFERS; n++) {
        OK(cuMemcpyDtoH_v2(got, on_gpu[n], WORDS * 4));
        digest = digest_of(got, sizeof got, digest);
        same += memcmp(got, on_cpu[n], sizeof got) == 0;
        OK(cuMemFree_v2(on_gpu[n]));
    }
    for (int n = 0; n < KERNELS; n++) printf("%s: %d launches\n", NAMES[n], launches[n]);
    printf("other work: %d, functions of the host: %u\n", other_work, calls);
    printf("digest: %016llx\n", (unsigned long long)digest);
    printf("the same as on the CPU: %u of %d\n", same, BUFFERS);
    for (int n = 0; n < STREAMS; n++) OK(cuStreamDestroy_v2(streams[n]));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    return same == BUFFERS ? 7 : 3;
}
