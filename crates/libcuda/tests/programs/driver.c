/* The driver's own interface: look-ups, results before cuInit and for wrong arguments, contexts, forks, threads.
 * Linked against nothing; the library's path is the first argument. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *lib;
static void *get(const char *name) {
    void *found = dlsym(lib, name);
    if (!found) { fprintf(stderr, "no export %s\n", name); exit(1); }
    return found;
}
/* every argument is a word here; a float comes back through memory only */
#define CALL(name, ...) (((int (*)())get(#name))(__VA_ARGS__))
#define IS(expected, name, ...) do { int is_ = CALL(name, __VA_ARGS__); if (is_ != (expected)) { \
    fprintf(stderr, "driver.c:%d: %s = %d, expected %d\n", __LINE__, #name, is_, expected); exit(1); } } while (0)
#define OK(name, ...) IS(0, name, __VA_ARGS__)
#define TRUE(what) do { if (!(what)) { fprintf(stderr, "driver.c:%d: not so: %s\n", __LINE__, #what); exit(1); } } while (0)
typedef void *P;
typedef uint64_t U;

static void look_ups(void) {
    P found = (P)77;
    int status = 77;
    struct { const char *name; unsigned version; U flags; int status; const char *symbol; } asked[] = {
        { "cuMemAlloc", 1999, 0, 2, 0 }, { "cuMemAlloc", 2000, 0, 0, "cuMemAlloc" },
        { "cuMemAlloc", 3010, 0, 0, "cuMemAlloc" }, { "cuMemAlloc", 3020, 0, 0, "cuMemAlloc_v2" },
        { "cuMemAlloc", 99999, 2, 0, "cuMemAlloc_v2" }, { "cuMemAlloc_v2", 12000, 0, 1, 0 },
        { "cuMemcpyHtoD", 12000, 0, 0, "cuMemcpyHtoD_v2" }, { "cuMemcpyHtoD", 12000, 1, 0, "cuMemcpyHtoD_v2" },
        { "cuMemcpyHtoD", 12000, 2, 0, "cuMemcpyHtoD_v2_ptds" }, { "cuMemcpyHtoD", 12000, 3, 0, "cuMemcpyHtoD_v2_ptds" },
        { "cuMemcpyHtoD", 6050, 2, 2, 0 }, { "cuStreamQuery", 12000, 2, 0, "cuStreamQuery_ptsz" },
        { "cuStreamBeginCapture", 10000, 2, 0, "cuStreamBeginCapture_ptsz" },
        { "cuStreamBeginCapture", 10010, 0, 0, "cuStreamBeginCapture_v2" },
        { "cuCtxCreate", 12050, 0, 0, "cuCtxCreate_v4" }, { "cuCtxCreate", 11040, 0, 0, "cuCtxCreate_v3" },
        { "cuGetProcAddress", 11030, 0, 0, "cuGetProcAddress" }, { "cuGetProcAddress", 12000, 0, 0, "cuGetProcAddress_v2" },
        { "cuNope", 12000, 0, 1, 0 }, { "", 0, 0, 1, 0 }, { "cudbgMain", 12000, 0, 1, 0 }, { "cuEGLApiInit", 12000, 0, 1, 0 },
        { "cuInit", (unsigned)-5, 0, 0, "cuInit" },
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        found = (P)77, status = 77;
        OK(cuGetProcAddress_v2, asked[i].name, &found, asked[i].version, asked[i].flags, &status);
        P expected = asked[i].symbol ? get(asked[i].symbol) : NULL;
        if (status != asked[i].status || found != expected) {
            Dl_info info = { 0 };
            dladdr(found, &info);
            fprintf(stderr, "%s %u %lu: status %d, %s\n", asked[i].name, asked[i].version, asked[i].flags, status, info.dli_sname);
            exit(1);
        }
        found = (P)77; /* the first form: an error, and the output untouched */
        IS(expected ? 0 : 500, cuGetProcAddress, asked[i].name, &found, asked[i].version, asked[i].flags);
        TRUE(found == (expected ? expected : (P)77));
    }
    OK(cuGetProcAddress_v2, "cuInit", &found, 12000, (U)0, NULL);
    TRUE(found == get("cuInit"));
    IS(1, cuGetProcAddress_v2, "cuInit", &found, 12000, (U)4, &status);
    IS(1, cuGetProcAddress_v2, "cuInit", NULL, 12000, (U)0, &status);
    IS(1, cuGetProcAddress_v2, NULL, &found, 12000, (U)0, &status);
    P table = (P)77;
    IS(1, cuGetExportTable, &table, "0123456789abcde");
    TRUE(table == NULL);
    IS(1, cuGetExportTable, &table, NULL);
    OK(cuGetExportTable, &table, "\xa0\x94\x79\x8c\x2e\x74\x2e\x74\x93\xf2\x08\x00\x20\x0c\x0a\x66");
    TRUE(*(U *)table == 0x38);
}

static void before_init(void) {
    int n = 7;
    const char *name;
    U address;
    IS(3, cuDeviceGetCount, &n);
    IS(3, cuMemAlloc_v2, &address, (size_t)10);
    IS(3, cuCtxGetCurrent, &address);
    IS(3, cuLaunchGrid, NULL, 1, 1);
    OK(cuDriverGetVersion, &n);
    TRUE(n == 13050);
    IS(1, cuDriverGetVersion, NULL);
    OK(cuGetErrorName, 2, &name);
    TRUE(!strcmp(name, "CUDA_ERROR_OUT_OF_MEMORY"));
    OK(cuGetErrorString, 2, &name);
    TRUE(!strcmp(name, "out of memory"));
    IS(1, cuGetErrorName, 12345, &name);
    TRUE(name == NULL);
    IS(1, cuInit, 1);
    IS(3, cuLogsCurrent, &address, 0); /* answered by default */
}

static void arguments(void) {
    U a, context = 0, other = 0, stream, event, module, function;
    size_t free, total;
    int n;
    char text[20];
    IS(1, cuDeviceGetCount, NULL);
    IS(101, cuDeviceGet, &n, 9);
    OK(cuDeviceGetName, text, 5, 0);
    TRUE(!strcmp(text, "NVID"));
    IS(1, cuDeviceGetName, text, 0, 0);
    IS(1, cuDeviceGetAttribute, &n, 99999, 0);
    IS(201, cuMemAlloc_v2, &a, (size_t)10); /* no context */
    IS(201, cuCtxSynchronize);
    IS(201, cuStreamCreate, &stream, 0);
    OK(cuCtxGetCurrent, &context);
    TRUE(context == 0);
    IS(201, cuCtxPopCurrent_v2, &context);
    OK(cuCtxCreate_v2, &context, 0, 0);
    OK(cuCtxCreate_v2, &other, 0, 0);
    OK(cuCtxGetCurrent, &a);
    TRUE(a == other && other != context);
    OK(cuCtxDestroy_v2, other);
    OK(cuCtxGetCurrent, &a);
    TRUE(a == context);
    IS(201, cuCtxSetCurrent, other);
    IS(201, cuCtxDestroy_v2, (U)0x1234);
    IS(1, cuMemAlloc_v2, NULL, (size_t)10);
    IS(1, cuMemAlloc_v2, &a, (size_t)0);
    OK(cuMemGetInfo_v2, &free, &total);
    IS(2, cuMemAlloc_v2, &a, free + 1);
    OK(cuMemAlloc_v2, &a, free - (1 << 20)); /* as much as there is, and a second time nothing */
    IS(2, cuMemAlloc_v2, &event, (size_t)2 << 20);
    OK(cuMemFree_v2, a);
    IS(1, cuMemFree_v2, a);
    IS(400, cuStreamQuery, (U)0x1234);
    IS(1, cuStreamCreate, &stream, 6);
    OK(cuStreamCreate, &stream, 0);
    IS(400, cuEventQuery, stream); /* a handle of another kind */
    OK(cuStreamDestroy_v2, stream);
    IS(400, cuStreamDestroy_v2, stream);
    IS(400, cuEventRecord, (U)0, (U)0);
    IS(200, cuModuleLoadData, &module, "\x7f" "ELF and then nothing that is right, but enough bytes to look at it as a head.......");
    IS(200, cuModuleLoadData, &module, "no code at all");
    IS(1, cuModuleLoadData, &module, NULL);
    IS(301, cuModuleLoad, &module, "/no/such/file");
    OK(cuModuleLoadData, &module, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f(.param .u64 a, .param .f32 b) { ret; }");
    IS(500, cuModuleGetFunction, &function, module, "g");
    OK(cuModuleGetFunction, &function, module, "f");
    size_t offset, size;
    OK(cuFuncGetParamInfo, function, (size_t)1, &offset, &size);
    TRUE(offset == 8 && size == 4);
    IS(1, cuFuncGetParamInfo, function, (size_t)2, &offset, &size);
    void *values[2] = { &a, &n };
    OK(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, (P)0, values, (P)0);
    IS(1, cuLaunchKernel, function, 0, 1, 1, 32, 1, 1, 0, (P)0, values, (P)0);
    IS(1, cuLaunchKernel, function, 1, 1, 1, 1025, 1, 1, 0, (P)0, values, (P)0);
    IS(1, cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, (P)0, (P)0, (P)0);
    IS(1, cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 60000, (P)0, values, (P)0);
    OK(cuFuncSetAttribute, function, 8, 60000);
    OK(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 60000, (P)0, values, (P)0);
    IS(400, cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, (P)0x999, values, (P)0);
    IS(400, cuLaunchKernel, (P)0x999, 1, 1, 1, 32, 1, 1, 0, (P)0, values, (P)0);
    OK(cuModuleUnload, module);
    IS(400, cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, (P)0, values, (P)0);
    /* a handle by value: 64 bytes on the stack */
    typedef struct { U words[8]; } Shared;
    Shared handle = { { 0 } };
    OK(cuMemAlloc_v2, &a, (size_t)100);
    OK(cuIpcGetMemHandle, &handle, a);
    int (*open)(U *, Shared, unsigned) = get("cuIpcOpenMemHandle_v2");
    TRUE(open(&event, handle, 1) == 201);
    handle.words[5]++;
    TRUE(open(&event, handle, 1) == 1);
    /* floats by value, in vector registers */
    float bias = 0, least = 0, most = 0;
    OK(cuTexRefCreate, &event);
    TRUE(((int (*)(U, float))get("cuTexRefSetMipmapLevelBias"))(event, 1.5f) == 0);
    TRUE(((int (*)(U, float, float))get("cuTexRefSetMipmapLevelClamp"))(event, 0.25f, 8.0f) == 0);
    OK(cuTexRefGetMipmapLevelBias, &bias, event);
    OK(cuTexRefGetMipmapLevelClamp, &least, &most, event);
    TRUE(bias == 1.5f && least == 0.25f && most == 8.0f);
    OK(cuTexRefDestroy, event);
    /* a value that a stream waits for */
    OK(cuStreamCreate, &stream, 1);
    OK(cuMemsetD8_v2, a, 0, (size_t)100);
    OK(cuStreamWaitValue32_v2, stream, a, 5, 1);
    IS(600, cuStreamQuery, stream);
    OK(cuStreamWriteValue32_v2, (P)0, a, 5, 0);
    OK(cuStreamSynchronize, stream);
    OK(cuStreamDestroy_v2, stream);
    OK(cuMemFree_v2, a);
    OK(cuCtxDestroy_v2, context);
}

static volatile int stop, rounds;

static void *thread(void *which) {
    U context, stream, a;
    int n = (int)(intptr_t)which, back = -1;
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuStreamCreate, &stream, 1);
    for (int i = 0; !stop; i++, __sync_fetch_and_add(&rounds, 1)) {
        OK(cuMemAlloc_v2, &a, (size_t)4096 * (1 + i % 3));
        int value = n * 1000000 + i;
        OK(cuMemcpyHtoDAsync_v2, a, &value, (size_t)4, stream);
        OK(cuMemcpyDtoHAsync_v2, &back, a, (size_t)4, stream);
        OK(cuStreamSynchronize, stream);
        TRUE(back == value);
        OK(cuMemFree_v2, a);
    }
    OK(cuStreamDestroy_v2, stream);
    OK(cuDevicePrimaryCtxRelease_v2, 0);
    return NULL;
}

static int child(int expected) {
    pid_t pid = fork();
    if (pid == 0) {
        int n;
        alarm(10); /* a deadlock ends here */
        int got[] = { CALL(cuInit, 0), CALL(cuDeviceGetCount, &n), CALL(cuCtxSynchronize), CALL(cuLaunchGrid, NULL, 1, 1) };
        for (int i = 0; i < 4; i++) if (got[i] != (i < 2 || expected ? expected : i == 2 ? 201 : 400)) _exit(10 + i);
        _exit(CALL(cuDriverGetVersion, &n));
    }
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

/* what a program's function on the driver's thread may do: all but wait for its own stream */
static U on_thread, memory;
static void host(void *data) {
    int *results = data, value = 3;
    U current = 0, fresh = 0;
    results[0] = CALL(cuCtxGetCurrent, &current) == 0 && current == on_thread;
    results[1] = CALL(cuMemAlloc_v2, &fresh, (size_t)100);
    results[2] = CALL(cuMemcpyHtoD_v2, memory, &value, (size_t)4);
    results[3] = CALL(cuCtxSynchronize);
}

static void on_the_driver_thread(void) {
    int results[4] = { 7, 7, 7, 7 }, value = 0;
    U stream;
    OK(cuCtxCreate_v2, &on_thread, 0, 0);
    OK(cuMemAlloc_v2, &memory, (size_t)100);
    OK(cuStreamCreate, &stream, 0);
    OK(cuLaunchHostFunc, stream, host, results);
    OK(cuStreamSynchronize, stream);
    TRUE(results[0] == 1 && results[1] == 0 && results[2] == 800 && results[3] == 800);
    OK(cuMemcpyDtoH_v2, &value, memory, (size_t)4);
    TRUE(value == 0); /* the copy that was refused did not happen later */
    OK(cuCtxDestroy_v2, on_thread);
}

/* closed and opened again, with a fork in between */
static void open_twice(const char *path) {
    lib = dlopen(path, RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); exit(1); }
    U context;
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    dlclose(lib);
    TRUE(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    int status;
    waitpid(pid, &status, 0);
    TRUE(status == 0);
    lib = dlopen(path, RTLD_NOW);
}

/* CUTAP_SIM_DRIVER: what came later than that version is not there */
static void old_driver(void) {
    P found;
    int status, version;
    OK(cuDriverGetVersion, &version);
    TRUE(version == 11040);
    OK(cuGetProcAddress_v2, "cuCtxCreate", &found, 13000, (U)0, &status);
    TRUE(found == get("cuCtxCreate_v3") && status == 0);
    OK(cuGetProcAddress_v2, "cuLibraryLoadData", &found, 13000, (U)0, &status);
    TRUE(found == NULL && status == 1);
}

int main(int argc, char **argv) {
    pthread_t threads[8];
    const char *path = argv[argc - 1];
    open_twice(path);
    if (getenv("CUTAP_SIM_DRIVER")) {
        old_driver();
        puts("all is well");
        return 0;
    }
    look_ups();
    before_init();
    TRUE(child(0) == 0); /* forked before cuInit: works there */
    OK(cuInit, 0);
    OK(cuInit, 0);
    arguments();
    on_the_driver_thread();
    TRUE(child(3) == 0);
    for (intptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, thread, (void *)i);
    for (int i = 0; i < 100; i++) TRUE(child(3) == 0); /* while eight threads are in the driver */
    stop = 1;
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    TRUE(rounds > 1000);
    look_ups();
    puts("all is well");
    return 0;
}
