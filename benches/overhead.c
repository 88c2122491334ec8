/* Times single CUDA calls in its own process: `overhead.py` runs it plain and under each tool, in turns.
 *
 *   overhead [--burst CALLS] [--bursts N] [--sustained MS] [--expect-driver] [--only CALL] [--switch [--beside-empty] | --own] [--around [--fenced]]
 *
 * Prints one line of JSON: for each call nanoseconds in a burst (median of N bursts, with pauses between
 * them in which a collector may empty the rings) and sustained (one run without pauses), where its pointer
 * leads, and what two readings of the time stamp counter cost here. With --expect-driver it ends with 3
 * unless every driver pointer lies inside libcuda: then nothing of a tool stands in the way of a call.
 *
 * With --switch, under `cutap record --capture-range=cudaProfilerApi` or `trace -C --capture-range=cudaProfilerApi`: cuProfilerStart and Stop between bursts, and for each
 * call the median of what a burst takes longer that is seen than one that is not, of pairs of neighbours, each first as often as the other.
 * With flag_on.so its flags are switched. A clock that differs between processes does not matter then, nor do calls that take
 * microseconds and vary by more than cutap costs. With --beside-empty the linked-in runtime reports to a function that does nothing while
 * cutap is off (built without one, there is nothing to do): the difference is what cutap adds to the runtime's own work, in one process. With --own it is the driver's own function, out of its symbol table, and what dlsym gives.
 *
 * With --around, behind timestamp_shim.c, what the driver's own launch or copy takes is left out of each call, and only these calls are made:
 * what is left is the tool's two sides, to a tenth of a nanosecond. With --fenced each reading waits until all before it is done: more
 * than the sides cost a program, for the processor goes on with the driver's work, or the program's, meanwhile.
 *
 * Driver functions come from dlsym, those of the runtime are linked in (libcudart_static.a), unless built
 * with -DDRIVER_ONLY. The prototypes are written out: no NVIDIA header is needed. What is queued on the
 * device (launches, events, copies) is waited for outside the time, before a queue can be full.
 * OVERHEAD_CUDART in the environment is a shared libcudart: its cudaGetDevice is timed too, by the pointer that dlsym gives.
 */
#define _GNU_SOURCE
#include "timestamp_shim.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long device_pointer;
typedef struct { unsigned x, y, z; } dim3;

static int (*get_current)(void **), (*event_record)(void *, void *), (*synchronize)(void *);
static int (*copy_async)(device_pointer, device_pointer, size_t, void *);
static int (*shared_get_device)(int *);
static void *event, *stream;
static device_pointer to, from;

static int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static void *driver_kernel;

#ifndef DRIVER_ONLY
static void *kernel;
int cudaGetDevice(int *);
int cudaSetDevice(int);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
int cudaLibraryGetKernel(void **, void *, const char *);
#endif

static const char *const PTX =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry nothing(.param .u64 p, .param .u32 n)\n{\n  ret;\n}\n";

static void fail(const char *what, int code)
{
    fprintf(stderr, "overhead: %s: %d\n", what, code);
    exit(2);
}
static void check(int code, const char *what)
{
    if (code != 0)
        fail(what, code);
}

static void call_get_current(void)
{
    void *context;
    get_current(&context);
}
static void call_event_record(void) { event_record(event, stream); }
static void call_driver_launch(void)
{
    device_pointer p = to;
    int n = 1;
    void *arguments[] = {&p, &n};
    launch_kernel(driver_kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
}
static void call_copy(void) { copy_async(to, from, 64, stream); }
#ifndef DRIVER_ONLY
static void call_get_device(void)
{
    int device;
    cudaGetDevice(&device);
}
static void call_launch(void)
{
    device_pointer p = to; /* as nvcc's stubs do: parameters are locals */
    int n = 1;
    void *arguments[] = {&p, &n};
    cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, arguments, 0, stream);
}
#endif

/* What one call is, and how many may be queued before the device must be waited for. */
struct call {
    const char *name;
    void (*make)(void);
    void *pointer;
    long queue;
    void *through; /* the pointer that is called, if it is the driver's */
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *values, int n)
{
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* With --around: where it is noted when the driver's function was entered and left. */
static volatile struct noted *noted;

static uint64_t ticks_around(const struct call *call, long calls)
{
    uint64_t sum = 0;
    int fenced = noted->fenced;
    for (long i = 0; i < calls; i++) {
        uint64_t begin = now(fenced);
        call->make();
        sum += now(fenced) - begin - (noted->left - noted->entered);
    }
    return sum;
}

/* Ticks of `calls` calls, without what waits for the device. */
static uint64_t ticks(const struct call *call, long calls)
{
    uint64_t sum = 0;
    while (calls > 0) {
        long some = call->queue && call->queue < calls ? call->queue : calls;
        if (noted) {
            sum += ticks_around(call, some);
        } else {
            uint64_t begin = __rdtsc();
            for (long i = 0; i < some; i++)
                call->make();
            sum += __rdtsc() - begin;
        }
        calls -= some;
        if (call->queue)
            synchronize(stream);
    }
    return sum;
}

/* The file that is mapped where `address` lies. */
static void file_of(const void *address, char *name, size_t size)
{
    char line[4096], path[4096];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    snprintf(name, size, "unknown");
    while (maps && fgets(line, sizeof line, maps)) {
        path[0] = '\0';
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %4095s", &start, &end, path) >= 2 && (unsigned long)address >= start &&
            (unsigned long)address < end) {
            char *slash = strrchr(path, '/');
            snprintf(name, size, "%s", slash ? slash + 1 : path);
        }
    }
    if (maps)
        fclose(maps);
}

static void *function(void *driver, const char *name)
{
    void *p = dlsym(driver, name);
    if (p == NULL)
        fail(name, -1);
    return p;
}

/* Where what is measured is a pointer: which, and what it is when it is not and when it is seen. */
static void *through, *pointers[2];

#ifndef DRIVER_ONLY
/* The runtime's copy of the driver's callback table, which cutap gave it, and its flags; and whom it reports to when cutap is on. */
static volatile uint64_t *callbacks;
static volatile uint32_t *flags_of_it;
static size_t number_of_flags;
static uint64_t cutaps;

static int nothing(uint32_t id, void *data)
{
    (void)id, (void)data;
    return 0;
}

static void find_callbacks(void *driver)
{
    static const unsigned char uuid[16] = {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66};
    const void *table;
    check(((int (*)(const void **, const void *))function(driver, "cuGetExportTable"))(&table, uuid), "cuGetExportTable");
    callbacks = (volatile uint64_t *)table;
    ((uint64_t (*)(volatile uint32_t **, size_t *))callbacks[2])(&flags_of_it, &number_of_flags);
    cutaps = callbacks[1];
    char file[4096];
    file_of((void *)cutaps, file, sizeof file);
    if (strncmp(file, "libcuda.so", 10) == 0)
        fail("--beside-empty is for a process under cutap", 0);
}

/* The empty callback stands where cutap's does, or not. */
static void empty(int on)
{
    if (callbacks == NULL)
        return;
    callbacks[1] = on ? (uint64_t)nothing : cutaps;
    for (size_t i = 0; on && i < number_of_flags; i++)
        flags_of_it[i] = 1;
}
#endif

/* Switches what is measured with --switch or --own. */
static void seen(int on)
{
    if (through != NULL) {
        memcpy(through, &pointers[on], sizeof *pointers);
        return;
    }
    static void (*flags)(int);
    static int (*range[2])(void);
    if (range[0] == NULL) {
        flags = (void (*)(int))dlsym(RTLD_DEFAULT, "flag_on_switch");
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        range[0] = (int (*)(void))function(driver, "cuProfilerStop");
        range[1] = (int (*)(void))function(driver, "cuProfilerStart");
    }
    if (flags) {
        flags(on);
        return;
    }
#ifndef DRIVER_ONLY
    empty(0);
#endif
    check(range[on](), "cuProfilerStart or cuProfilerStop");
#ifndef DRIVER_ONLY
    if (!on)
        empty(1);
#endif
}

/* What two readings of the counter cost, of so many. */
static double pair_of(long pairs, double ns)
{
    uint64_t start = __rdtsc(), sum = 0;
    for (long k = 0; k < pairs; k++) {
        sum += __rdtsc();
        sum ^= __rdtsc();
    }
    return (__rdtsc() - start + (sum & 0)) * ns / pairs;
}

/* Nanoseconds of a call in a burst that is seen, or not. */
static double burst_of(const struct call *call, long burst, int on, double ns)
{
    seen(on);
    ticks(call, 20); /* what was just switched, and what the switching pushed out of the caches */
    return ticks(call, burst) * ns / burst;
}

/* What being seen costs a call, in pairs of bursts: median, where the middle half lies, and where the median lies 19 times of 20. */
static void switched(const struct call *call, long burst, long pairs, double ns)
{
    burst *= call->queue ? 1 : 10; /* those that take nanoseconds */
    double *more = malloc(pairs * sizeof *more), *without = malloc(pairs * sizeof *without), *readings = malloc(pairs * sizeof *readings);
    check(more == NULL || without == NULL || readings == NULL, "no memory");
    burst_of(call, burst, 1, ns); /* names are told and pages are touched */
    for (long i = 0; i < pairs; i++) {
        double first = burst_of(call, burst, i % 2, ns), second = burst_of(call, burst, !(i % 2), ns);
        more[i] = i % 2 ? first - second : second - first;
        without[i] = i % 2 ? second : first;
        readings[i] = pair_of(200, ns); /* the clock changes within a process, too */
    }
    long out = pairs / 2 - (long)(0.98 * sqrt(pairs));
    out = out < 0 ? 0 : out;
    double middle = median(more, pairs), off = median(without, pairs); /* and sorted */
    printf("{\"more\": %.2f, \"least\": %.2f, \"most\": %.2f, \"low\": %.2f, \"high\": %.2f, \"off\": %.2f, \"pair\": %.2f}", middle,
           more[pairs / 4], more[pairs * 3 / 4], more[out], more[pairs - 1 - out], off, median(readings, pairs));
    free(readings);
    free(more);
    free(without);
}

static void call_shared_get_device(void)
{
    int device;
    shared_get_device(&device);
}

static void prepare(void *driver)
{
    const char *shared = getenv("OVERHEAD_CUDART");
    if (shared != NULL) {
        void *library = dlopen(shared, RTLD_NOW);
        if (library == NULL)
            fail(dlerror(), 0);
        shared_get_device = (int (*)(int *))function(library, "cudaGetDevice");
    }
    void *context, *device_context;
    device_pointer memory;
    check(((int (*)(unsigned))function(driver, "cuInit"))(0), "cuInit");
    check(((int (*)(void **, int))function(driver, "cuDevicePrimaryCtxRetain"))(&device_context, 0), "retain");
    check(((int (*)(void *))function(driver, "cuCtxSetCurrent"))(device_context), "cuCtxSetCurrent");
    get_current = (int (*)(void **))function(driver, "cuCtxGetCurrent");
    check(get_current(&context), "cuCtxGetCurrent");
    event_record = (int (*)(void *, void *))function(driver, "cuEventRecord");
    copy_async = (int (*)(device_pointer, device_pointer, size_t, void *))function(driver, "cuMemcpyAsync");
    synchronize = (int (*)(void *))function(driver, "cuStreamSynchronize");
    check(((int (*)(void **, unsigned))function(driver, "cuStreamCreate"))(&stream, 0), "cuStreamCreate");
    check(((int (*)(void **, unsigned))function(driver, "cuEventCreate"))(&event, 2), "cuEventCreate");
    check(((int (*)(device_pointer *, size_t))function(driver, "cuMemAlloc_v2"))(&memory, 256), "cuMemAlloc");
    void *module;
    check(((int (*)(void **, const void *))function(driver, "cuModuleLoadData"))(&module, PTX), "cuModuleLoadData");
    check(((int (*)(void **, void *, const char *))function(driver, "cuModuleGetFunction"))(&driver_kernel, module, "nothing"),
          "cuModuleGetFunction");
    launch_kernel = function(driver, "cuLaunchKernel");
    to = memory;
    from = memory + 128;
#ifndef DRIVER_ONLY
    void *library;
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0), "cudaLibraryLoadData");
    check(cudaLibraryGetKernel(&kernel, library, "nothing"), "cudaLibraryGetKernel");
#endif
}

int main(int argc, char **argv)
{
    long burst = 4000, bursts = 15, sustained_ms = 150;
    int expect_driver = 0;
    int by_turns = 0, by_pointer = 0, beside_empty = 0, around = 0, fenced = 0;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        long *number = !strcmp(argv[i], "--burst") ? &burst : !strcmp(argv[i], "--bursts") ? &bursts
                     : !strcmp(argv[i], "--sustained") ? &sustained_ms : NULL;
        if (number && i + 1 < argc)
            *number = atol(argv[++i]);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "--switch"))
            by_turns = 1;
        else if (!strcmp(argv[i], "--own"))
            by_turns = by_pointer = 1;
        else if (!strcmp(argv[i], "--beside-empty"))
            beside_empty = 1;
        else if (!strcmp(argv[i], "--around"))
            around = 1;
        else if (!strcmp(argv[i], "--fenced"))
            fenced = 1;
        else if (!strcmp(argv[i], "--expect-driver"))
            expect_driver = 1;
        else
            fail("usage: overhead [--burst CALLS] [--bursts N] [--sustained MS] [--expect-driver] [--only CALL] "
                 "[--switch [--beside-empty] | --own] [--around [--fenced]]", i);
    }
    if (burst < 1 || bursts < 1 || (bursts > 1000 && !by_turns) || sustained_ms < 1)
        fail("numbers must be 1 or more, bursts at most 1000 without --switch or --own", 0);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL)
        fail(dlerror(), 0);
    prepare(driver);
    if (around) {
        noted = function(driver, "noted");
        noted->fenced = fenced;
    }
    if (beside_empty) {
#ifndef DRIVER_ONLY
        find_callbacks(driver);
#endif
    }
    struct call calls[] = {
        {"cuCtxGetCurrent", call_get_current, get_current, 0, &get_current},
#ifndef DRIVER_ONLY
        {"cudaGetDevice", call_get_device, cudaGetDevice, 0, NULL},
#endif
        {"cudaGetDevice, shared", call_shared_get_device, shared_get_device, 0, NULL},
        {"cuEventRecord", call_event_record, event_record, 200, &event_record},
#ifndef DRIVER_ONLY
        {"cudaLaunchKernel", call_launch, cudaLaunchKernel, 200, NULL},
#endif
        {"cuLaunchKernel", call_driver_launch, launch_kernel, 200, &launch_kernel},
        {"cuMemcpyAsync", call_copy, copy_async, 200, &copy_async},
    };

    /* The counter's speed, and what two readings cost. */
    uint64_t begin_ticks = __rdtsc();
    double begin = seconds(), pairs[101];
    while (seconds() - begin < 0.02)
        ;
    double ns = (seconds() - begin) * 1e9 / (__rdtsc() - begin_ticks);
    for (int i = 0; i < 101; i++)
        pairs[i] = pair_of(1000, ns);
    printf("{\"two_timestamps\": %.2f, \"calls\": {", median(pairs, 101));
    const char *comma = "";
    int outside = 0;
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        const struct call *call = &calls[c];
        if ((only && strcmp(only, call->name)) || call->pointer == NULL)
            continue;
        if (around && strstr(call->name, "Launch") == NULL && strstr(call->name, "Memcpy") == NULL)
            continue;
        char file[4096];
        file_of(call->pointer, file, sizeof file);
        if (strncmp(call->name, "cuda", 4) != 0 && strncmp(file, "libcuda.so", 10) != 0)
            outside = 1;
        double all[1000];
        if (by_pointer && call->through == NULL)
            continue;
        if (by_turns) {
            through = by_pointer ? call->through : NULL;
            pointers[0] = by_pointer ? own(driver, call->name) : NULL;
            if (by_pointer && pointers[0] == NULL)
                fail("the driver has no such symbol", 0);
            pointers[1] = call->pointer;
            printf("%s\"%s\": ", comma, call->name);
            switched(call, burst, bursts, ns);
            comma = ", ";
            continue;
        }
        ticks(call, burst); /* names are told and pages are touched at the first calls */
        for (long i = 0; i < bursts; i++) {
            usleep(3000);
            ticks(call, 16); /* the pause cooled the caches: that is not what is measured */
            all[i] = ticks(call, burst) * ns / burst;
        }
        double until = seconds() + sustained_ms * 1e-3;
        uint64_t sum = 0;
        long made = 0;
        do {
            sum += ticks(call, 1000);
            made += 1000;
        } while (seconds() < until);
        double middle = median(all, bursts);
        printf("%s\"%s\": {\"burst\": %.2f, \"least\": %.2f, \"sustained\": %.2f, \"made\": %ld, \"in\": \"%s\"}", comma,
               call->name, middle, all[0], sum * ns / made, made + (bursts + 1) * burst + bursts * 16, file);
        comma = ", ";
        fflush(stdout);
        usleep(30000);
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double cpu = use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    printf("}, \"seconds\": %.4f, \"cpu\": %.4f}\n", seconds() - begin, cpu);
    if (expect_driver && outside) {
        fprintf(stderr, "overhead: a driver pointer does not lie inside libcuda\n");
        return 3;
    }
    return 0;
}
