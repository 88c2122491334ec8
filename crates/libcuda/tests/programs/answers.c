/* Asks a driver, real or simulated, questions with one right answer each, and prints the answers: the same program on
 * an H200 says how the simulated driver should behave. Usage: answers [LIBCUDA]; nothing is compared here.
 * Values that differ from machine to machine (addresses, handles, times) are not printed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint64_t U;
typedef void *P;
static void *lib;
#define CALL(name, ...) (((int (*)())dlsym(lib, #name))(__VA_ARGS__))
#define ASK(label, name, ...) do { int is_ = CALL(name, __VA_ARGS__); printf("%s: %s = %d\n", label, #name, is_); fflush(stdout); } while (0)
#define TELL(label, value) do { printf("%s %lld\n", label, (long long)(value)); fflush(stdout); } while (0)

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 counter = 42;\n"
    ".visible .entry f(.param .u64 a, .param .f32 b, .param .align 4 .b8 c[100])\n.maxntid 256, 1, 1\n{ ret; }\n"
    ".visible .entry g()\n{ ret; }\n";
static int ran;
static void host(void *data) { usleep(*(int *)data); ran++; }

static void start(void) {
    int n;
    U a;
    ASK("before cuInit", cuDeviceGetCount, &n);
    ASK("before cuInit", cuCtxGetCurrent, &a);
    ASK("flags 1", cuInit, 1);
    ASK("start", cuInit, 0);
    ASK("no such device", cuDeviceGet, &n, 99);
    ASK("no such attribute", cuDeviceGetAttribute, &n, 99999, 0);
    ASK("no such device", cuDeviceGetAttribute, &n, 1, 99);
    char text[8];
    ASK("5 bytes of name", cuDeviceGetName, text, 5, 0);
    ASK("0 bytes of name", cuDeviceGetName, text, 0, 0);
    const char *name = (P)1;
    ASK("unknown result", cuGetErrorName, 12345, &name);
    TELL("is NULL", name == NULL);
}

static void contexts(void) {
    U a = 7, b = 7, c = 7;
    unsigned flags = 7;
    int active = 7;
    ASK("no context", cuCtxGetCurrent, &a);
    TELL("current is NULL", a == 0);
    ASK("no context", cuCtxSynchronize);
    ASK("no context", cuMemAlloc_v2, &a, (size_t)10);
    ASK("no context", cuStreamCreate, &a, 0);
    ASK("no context", cuCtxGetDevice, &active);
    ASK("no context", cuCtxPopCurrent_v2, &a);
    ASK("primary", cuDevicePrimaryCtxGetState, 0, &flags, &active);
    TELL("flags", flags); TELL("active", active);
    ASK("not retained", cuDevicePrimaryCtxRelease_v2, 0);
    ASK("create", cuCtxCreate_v2, &a, 0, 0);
    ASK("create second", cuCtxCreate_v2, &b, 0, 0);
    ASK("wrong flags", cuCtxCreate_v2, &c, 0x10000, 0);
    ASK("api version", cuCtxGetApiVersion, a, &flags);
    TELL("version", flags);
    ASK("destroy current", cuCtxDestroy_v2, b);
    ASK("current", cuCtxGetCurrent, &c);
    TELL("back to the first", c == a);
    ASK("stack limit", cuCtxGetLimit, &b, 0); TELL("bytes", b);
    ASK("printf limit", cuCtxGetLimit, &b, 1); TELL("bytes", b);
    ASK("heap limit", cuCtxGetLimit, &b, 2); TELL("bytes", b);
    ASK("limit 5", cuCtxGetLimit, &b, 5); TELL("bytes", b);
    ASK("limit 7", cuCtxGetLimit, &b, 7);
    ASK("limit 8", cuCtxGetLimit, &b, 8);
    ASK("limit 99", cuCtxGetLimit, &b, 99);
    int least = 7, most = 7;
    ASK("priorities", cuCtxGetStreamPriorityRange, &least, &most);
    TELL("least", least); TELL("greatest", most);
}

static void memory(void) {
    U a = 0, b = 0;
    size_t pitch = 0, size = 0;
    char bytes[4096] = { 0 };
    ASK("0 bytes", cuMemAlloc_v2, &a, (size_t)0);
    ASK("too much", cuMemAlloc_v2, &a, (size_t)1 << 50);
    ASK("100 bytes", cuMemAlloc_v2, &a, (size_t)100);
    TELL("aligned to 512", a % 512 == 0);
    ASK("range", cuMemGetAddressRange_v2, &b, &size, a + 50);
    TELL("base", b == a); TELL("size", size);
    ASK("to device, all", cuMemcpyHtoD_v2, a, bytes, (size_t)100);
    ASK("to device, past the end", cuMemcpyHtoD_v2, a, bytes, (size_t)101);
    ASK("to device, far past the end", cuMemcpyHtoD_v2, a, bytes, (size_t)4096);
    ASK("set past the end", cuMemsetD8_v2, a, 0, (size_t)101);
    ASK("set 32 bits at 2", cuMemsetD32_v2, a + 2, 0, (size_t)1);
    ASK("to no device address", cuMemcpyHtoD_v2, (U)0x1234, bytes, (size_t)10);
    ASK("0 bytes to nowhere", cuMemcpyHtoD_v2, (U)0, bytes, (size_t)0);
    ASK("any way", cuMemcpy, a, bytes, (size_t)100);
    ASK("inside", cuMemFree_v2, a + 10);
    ASK("free", cuMemFree_v2, a);
    ASK("free NULL", cuMemFree_v2, (U)0);
    ASK("free wild", cuMemFree_v2, (U)0x1234);
    ASK("pitch", cuMemAllocPitch_v2, &a, &pitch, (size_t)100, (size_t)10, 4);
    TELL("pitch", pitch);
    ASK("free", cuMemFree_v2, a);
    ASK("element of 3", cuMemAllocPitch_v2, &a, &pitch, (size_t)100, (size_t)10, 3);
    ASK("managed, flags 0", cuMemAllocManaged, &a, (size_t)100, 0);
    ASK("host, flags 8", cuMemHostAlloc, &a, (size_t)100, 8);
    ASK("host", cuMemHostAlloc, &a, (size_t)100, 0);
    ASK("its flags", cuMemHostGetFlags, &pitch, a);
    TELL("flags", (unsigned)pitch);
    int type = 7;
    ASK("its type", cuPointerGetAttribute, &type, 2, a); TELL("type", type);
    ASK("unknown address", cuPointerGetAttribute, &type, 2, (U)(uintptr_t)bytes);
    ASK("free as device memory", cuMemFree_v2, a);
    ASK("free", cuMemFreeHost, a);
    ASK("register", cuMemHostRegister_v2, bytes, (size_t)4096, 0);
    ASK("register again", cuMemHostRegister_v2, bytes, (size_t)4096, 0);
    ASK("unregister", cuMemHostUnregister, bytes);
    ASK("unregister again", cuMemHostUnregister, bytes);
    unsigned id = 9;
    int ordinal = 7;
    U context = 7;
    unsigned ids[3] = { 1, 2, id };
    P values[3] = { &context, &type, &ordinal };
    ASK("several of an unknown address", cuPointerGetAttributes, 3, ids, values, (U)(uintptr_t)bytes);
    TELL("context", context != 0); TELL("type", type); TELL("device", ordinal);
}

static void order(void) {
    U s = 0, e = 0, f = 0;
    int pause = 100000, priority = 7;
    float ms;
    ASK("flags 6", cuStreamCreate, &s, 6);
    ASK("stream", cuStreamCreate, &s, 0);
    ASK("priority -99", cuStreamCreateWithPriority, &f, 0, -99);
    ASK("its priority", cuStreamGetPriority, f, &priority); TELL("priority", priority);
    ASK("destroy", cuStreamDestroy_v2, f);
    ASK("query", cuStreamQuery, s);
    ASK("flags 99", cuEventCreate, &e, 99);
    ASK("event", cuEventCreate, &e, 0);
    ASK("untimed event", cuEventCreate, &f, 2);
    ASK("never recorded", cuEventQuery, e);
    ASK("never recorded", cuEventSynchronize, e);
    ASK("never recorded", cuEventElapsedTime, &ms, e, e);
    ASK("wait, never recorded", cuStreamWaitEvent, s, e, 0);
    ASK("host function", cuLaunchHostFunc, s, host, &pause);
    ASK("behind it", cuEventRecord, e, s);
    ASK("behind it", cuStreamQuery, s);
    ASK("behind it", cuEventQuery, e);
    ASK("behind it", cuEventElapsedTime, &ms, e, e);
    ASK("legacy behind it", cuStreamQuery, (U)0);
    ASK("wait", cuStreamSynchronize, s);
    TELL("ran", ran);
    ASK("done", cuEventQuery, e);
    ASK("untimed", cuEventRecord, f, s);
    ASK("untimed", cuStreamSynchronize, s);
    ASK("untimed", cuEventElapsedTime, &ms, e, f);
    ASK("no function", cuLaunchHostFunc, s, (P)0, (P)0);
    ASK("callback flags 1", cuStreamAddCallback, s, host, &pause, 1);
    ASK("record flags 9", cuEventRecordWithFlags, e, s, 9);
    ASK("legacy", cuStreamDestroy_v2, (U)1);
    ASK("destroy", cuEventDestroy_v2, e);
    ASK("destroy", cuEventDestroy_v2, f);
    ASK("destroy", cuStreamDestroy_v2, s);
}

static void code(void) {
    U m = 0, f = 0, g = 0, a = 0, l = 0, k = 0;
    float b = 1;
    char c[100];
    size_t size = 7, offset = 7;
    int n = 7;
    const char *name = "";
    P values[3] = { &a, &b, c };
    ASK("no code", cuModuleLoadData, &m, "no code at all");
    ASK("no file", cuModuleLoad, &m, "/no/such/file");
    ASK("PTX", cuModuleLoadData, &m, ptx);
    ASK("no such function", cuModuleGetFunction, &f, m, "nope");
    ASK("function", cuModuleGetFunction, &f, m, "f");
    ASK("function", cuModuleGetFunction, &g, m, "g");
    ASK("variable", cuModuleGetGlobal_v2, &a, &size, m, "counter");
    TELL("size", size);
    ASK("its content", cuMemcpyDtoH_v2, &n, a, (size_t)4); TELL("content", n);
    ASK("no such variable", cuModuleGetGlobal_v2, &a, &size, m, "nope");
    for (size_t i = 0; i < 4; i++) {
        ASK("parameter", cuFuncGetParamInfo, f, i, &offset, &size);
        TELL("offset", offset); TELL("size", size);
    }
    for (int i = 0; i < 16; i++) {
        ASK("attribute", cuFuncGetAttribute, &n, i, f);
        if (i != 4 && i != 5) TELL("value", n); /* registers and code version depend on the compiler */
    }
    ASK("attribute 99", cuFuncGetAttribute, &n, 99, f);
    ASK("blocks", cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, g, 256, (size_t)0); TELL("blocks", n);
    ASK("blocks of 2000", cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, g, 2000, (size_t)0);
    ASK("launch", cuLaunchKernel, f, 1, 1, 1, 32, 1, 1, 0, (P)0, values, (P)0);
    ASK("grid 0", cuLaunchKernel, g, 0, 1, 1, 32, 1, 1, 0, (P)0, (P)0, (P)0);
    ASK("block 1025", cuLaunchKernel, g, 1, 1, 1, 1025, 1, 1, 0, (P)0, (P)0, (P)0);
    ASK("block 257 of 256", cuLaunchKernel, f, 1, 1, 1, 257, 1, 1, 0, (P)0, values, (P)0);
    ASK("block z 65", cuLaunchKernel, g, 1, 1, 1, 1, 1, 65, 0, (P)0, (P)0, (P)0);
    ASK("grid y 65536", cuLaunchKernel, g, 1, 65536, 1, 1, 1, 1, 0, (P)0, (P)0, (P)0);
    ASK("shared 60000", cuLaunchKernel, g, 1, 1, 1, 32, 1, 1, 60000, (P)0, (P)0, (P)0);
    ASK("allow it", cuFuncSetAttribute, g, 8, 60000);
    ASK("shared 60000", cuLaunchKernel, g, 1, 1, 1, 32, 1, 1, 60000, (P)0, (P)0, (P)0);
    ASK("allow too much", cuFuncSetAttribute, g, 8, 300000);
    ASK("no parameters given", cuLaunchKernel, f, 1, 1, 1, 32, 1, 1, 0, (P)0, (P)0, (P)0);
    ASK("wait", cuCtxSynchronize);
    ASK("unload", cuModuleUnload, m);
    ASK("library", cuLibraryLoadData, &l, ptx, (P)0, (P)0, 0, (P)0, (P)0, 0);
    ASK("kernel", cuLibraryGetKernel, &k, l, "f");
    ASK("no such kernel", cuLibraryGetKernel, &g, l, "nope");
    ASK("its name", cuKernelGetName, &name, k);
    puts(name);
    ASK("launch a kernel", cuLaunchKernel, k, 1, 1, 1, 32, 1, 1, 0, (P)0, values, (P)0);
    ASK("wait", cuCtxSynchronize);
    ASK("unload", cuLibraryUnload, l);
}

static void child(void) {
    fflush(stdout);
    if (fork() == 0) {
        int n;
        ASK("in a child", cuInit, 0);
        ASK("in a child", cuDeviceGetCount, &n);
        ASK("in a child", cuDriverGetVersion, &n);
        _exit(0);
    }
    wait(NULL);
}

int main(int argc, char **argv) {
    lib = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    alarm(60);
    start();
    contexts();
    memory();
    order();
    code();
    child();
    return 0;
}
