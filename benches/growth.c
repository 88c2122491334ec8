/* Makes so many driver calls, as a training step makes them: `growth.py` records it on the simulated driver.
 *
 *   growth CALLS [SECONDS]
 *
 * A step is copies, launches of three kernels on two streams, events and a wait; each tenth step allocates and frees,
 * each hundredth has a call that fails. With SECONDS the steps are spread evenly over that time. Prints the number of
 * calls that it made. Driver functions come from dlsym, and the prototypes are written out: no NVIDIA header is needed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef unsigned long long device_pointer;

static int (*init)(unsigned), (*device_get)(int *, int), (*context_retain)(void **, int), (*context_set)(void *);
static int (*module_load)(void **, const void *), (*get_function)(void **, void *, const char *);
static int (*stream_create)(void **, unsigned), (*event_create)(void **, unsigned);
static int (*allocate)(device_pointer *, size_t), (*release)(device_pointer);
static int (*to_device)(device_pointer, const void *, size_t, void *);
static int (*to_host)(void *, device_pointer, size_t, void *);
static int (*fill)(device_pointer, unsigned char, size_t, void *);
static int (*event_record)(void *, void *), (*stream_wait)(void *, void *, unsigned), (*synchronize)(void *);
static int (*get_current)(void **);
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                     void **);

static const struct {
    const char *name;
    void *pointer;
} FUNCTIONS[] = {
    {"cuInit", &init},
    {"cuDeviceGet", &device_get},
    {"cuDevicePrimaryCtxRetain", &context_retain},
    {"cuCtxSetCurrent", &context_set},
    {"cuModuleLoadData", &module_load},
    {"cuModuleGetFunction", &get_function},
    {"cuStreamCreate", &stream_create},
    {"cuEventCreate", &event_create},
    {"cuMemAlloc_v2", &allocate},
    {"cuMemFree_v2", &release},
    {"cuMemcpyHtoDAsync_v2", &to_device},
    {"cuMemcpyDtoHAsync_v2", &to_host},
    {"cuMemsetD8Async", &fill},
    {"cuEventRecord", &event_record},
    {"cuStreamWaitEvent", &stream_wait},
    {"cuStreamSynchronize", &synchronize},
    {"cuCtxGetCurrent", &get_current},
    {"cuLaunchKernel", &launch},
};

static const char PTX[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry forward(.param .u64 p, .param .u32 n)\n{\n  ret;\n}\n"
                          ".visible .entry backward(.param .u64 p, .param .u32 n)\n{\n  ret;\n}\n"
                          ".visible .entry update(.param .u64 p, .param .u32 n)\n{\n  ret;\n}\n";

static long calls;

static void check(int code, const char *what)
{
    calls++;
    if (code == 0)
        return;
    fprintf(stderr, "growth: %s: %d\n", what, code);
    exit(2);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Waits until `part` of all calls are due. */
static void wait_until(double begun, double lasts, double part)
{
    double ahead = begun + lasts * part - seconds();
    if (ahead <= 0.001)
        return;
    struct timespec pause = {(time_t)ahead, (long)((ahead - (time_t)ahead) * 1e9)};
    nanosleep(&pause, NULL);
}

int main(int count, char **words)
{
    long wanted = count > 1 ? atol(words[1]) : 0;
    double lasts = count > 2 ? atof(words[2]) : 0;
    if (wanted <= 0) {
        fprintf(stderr, "usage: growth CALLS [SECONDS]\n");
        return 1;
    }
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t n = 0; n < sizeof FUNCTIONS / sizeof *FUNCTIONS; n++) {
        void *function = driver ? dlsym(driver, FUNCTIONS[n].name) : NULL;
        if (!function) {
            fprintf(stderr, "growth: no %s\n", FUNCTIONS[n].name);
            return 1;
        }
        *(void **)FUNCTIONS[n].pointer = function;
    }
    static const char *const NAMES[] = {"forward", "backward", "update"};
    void *context, *module, *kernels[3], *streams[2], *event, *current;
    device_pointer weights, extra;
    static char host[4096];
    int device;
    check(init(0), "cuInit");
    check(device_get(&device, 0), "cuDeviceGet");
    check(context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(context_set(context), "cuCtxSetCurrent");
    check(module_load(&module, PTX), "cuModuleLoadData");
    for (int n = 0; n < 3; n++)
        check(get_function(&kernels[n], module, NAMES[n]), "cuModuleGetFunction");
    for (int n = 0; n < 2; n++)
        check(stream_create(&streams[n], 1), "cuStreamCreate");
    check(event_create(&event, 2), "cuEventCreate");
    check(allocate(&weights, 1 << 20), "cuMemAlloc");
    double begun = seconds();
    for (long step = 0; calls < wanted; step++) {
        check(to_device(weights, host, sizeof host, streams[0]), "cuMemcpyHtoDAsync");
        check(event_record(event, streams[0]), "cuEventRecord");
        check(stream_wait(streams[1], event, 0), "cuStreamWaitEvent");
        for (int n = 0; n < 12; n++) {
            int size = (int)step + n;
            void *parameters[] = {&weights, &size};
            check(get_current(&current), "cuCtxGetCurrent");
            check(launch(kernels[n % 3], 1 + n, 1, 1, 128, 1, 1, 0, streams[n & 1], parameters, NULL), "cuLaunchKernel");
        }
        check(fill(weights, 0, 1 << 12, streams[1]), "cuMemsetD8Async");
        check(to_host(host, weights, 64, streams[1]), "cuMemcpyDtoHAsync");
        check(synchronize(streams[1]), "cuStreamSynchronize");
        if (step % 10 == 0) {
            check(allocate(&extra, (size_t)(1 + step % 7) << 12), "cuMemAlloc");
            check(release(extra), "cuMemFree");
        }
        if (step % 100 == 0) {
            release(1);
            calls++;
        }
        if (lasts > 0)
            wait_until(begun, lasts, (double)calls / (double)wanted);
    }
    printf("%ld\n", calls);
    return 0;
}
