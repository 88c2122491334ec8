/* Graphs: made by hand, captured, changed, launched in order. */
#include "check.h"
#include <pthread.h>

static int steps[8], count;
static void step(void *data) { steps[count++] = (int)(intptr_t)data; }
static void gone(void *data) { *(int *)data += 1; }

struct host { void (*run)(void *); P data; };
struct set { U to; size_t pitch; unsigned value, element; size_t width, height; };
struct kernel { P fun; unsigned grid[3], block[3], shared; P *params, *extra, kern, context; };

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry f(.param .u64 a, .param .u32 b)\n{ ret; }\n";
static P s, t, context;
static U memory;
static unsigned char back[64];

static void by_hand(void) {
    P g, copy, x, nodes[4], found[4], mod, f, e;
    struct host first = { step, (P)1 }, second = { step, (P)2 }, third = { step, (P)3 };
    struct set set = { memory, 0, 0x5a, 1, 64, 1 };
    U a = 0x1234567890;
    unsigned b = 77;
    P values[2] = { &a, &b };
    OK(cuGraphCreate, &g, 0);
    OK(cuGraphAddHostNode, &nodes[2], g, NUL, SIZE(0), &third); /* made first, runs last */
    OK(cuGraphAddHostNode, &nodes[0], g, NUL, SIZE(0), &first);
    OK(cuGraphAddHostNode, &nodes[1], g, &nodes[0], SIZE(1), &second);
    OK(cuGraphAddDependencies, g, &nodes[1], &nodes[2], SIZE(1));
    OK(cuGraphAddMemsetNode, &nodes[3], g, &nodes[2], SIZE(1), &set, context);
    size_t n = 0;
    OK(cuGraphGetNodes, g, NUL, &n);
    TRUE(n == 4);
    OK(cuGraphGetEdges, g, NUL, NUL, &n);
    TRUE(n == 3);
    n = 4;
    OK(cuGraphGetRootNodes, g, found, &n);
    TRUE(n == 1 && found[0] == nodes[0] && found[1] == NULL);
    n = 4;
    OK(cuGraphNodeGetDependencies, nodes[2], found, &n);
    TRUE(n == 1 && found[0] == nodes[1]);
    int kind = 7;
    OK(cuGraphNodeGetType, nodes[3], &kind);
    TRUE(kind == 2);
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    count = 0;
    OK(cuGraphLaunch, x, s);
    OK(cuStreamSynchronize, s);
    TRUE(count == 3 && steps[0] == 1 && steps[1] == 2 && steps[2] == 3);
    OK(cuMemcpyDtoH_v2, back, memory, SIZE(64));
    TRUE(back[0] == 0x5a && back[63] == 0x5a);
    /* a copy of the graph is another graph; the executable takes its tasks over */
    OK(cuGraphClone, &copy, g);
    OK(cuGraphNodeFindInClone, &found[0], nodes[3], copy);
    set.value = 0x77;
    OK(cuGraphMemsetNodeSetParams, found[0], &set);
    U info[3] = { 9, 9, 9 };
    OK(cuGraphExecUpdate_v2, x, copy, info);
    TRUE((int)info[0] == 0);
    OK(cuGraphDestroy, g);
    OK(cuGraphLaunch, x, s);
    OK(cuStreamSynchronize, s);
    OK(cuMemcpyDtoH_v2, back, memory, SIZE(64));
    TRUE(back[0] == 0x77 && count == 6);
    OK(cuGraphDestroyNode, found[0]);
    IS(910, cuGraphExecUpdate_v2, x, copy, info);
    TRUE((int)info[0] == 2);
    OK(cuGraphExecDestroy, x);
    OK(cuGraphDestroy, copy);
    /* a kernel's arguments are copied when its node is made */
    OK(cuModuleLoadData, &mod, ptx);
    OK(cuModuleGetFunction, &f, mod, "f");
    struct kernel kernel = { f, { 2, 1, 1 }, { 32, 1, 1 }, 0, values, NUL }, told;
    OK(cuGraphCreate, &g, 0);
    OK(cuGraphAddKernelNode_v2, &nodes[0], g, NUL, SIZE(0), &kernel);
    a = b = 0;
    memset(&told, 0xff, sizeof told);
    OK(cuGraphKernelNodeGetParams_v2, nodes[0], &told);
    TRUE(told.fun == f && told.grid[0] == 2 && told.block[0] == 32);
    TRUE(*(U *)told.params[0] == 0x1234567890 && *(unsigned *)told.params[1] == 77);
    TRUE(!told.kern && told.context);
    /* a library's kernel is told as that and as a function; and is not taken for a function */
    P library, k, kf;
    OK(cuLibraryLoadData, &library, ptx, NUL, NUL, 0, NUL, NUL, 0);
    OK(cuLibraryGetKernel, &k, library, "f");
    OK(cuKernelGetFunction, &kf, k);
    kernel.fun = NULL, kernel.kern = k;
    OK(cuGraphAddKernelNode_v2, &nodes[1], g, NUL, SIZE(0), &kernel);
    OK(cuGraphKernelNodeGetParams_v2, nodes[1], &told);
    TRUE(told.fun == kf && told.kern == k && told.context);
    kernel.fun = k, kernel.kern = NULL;
    IS(400, cuGraphAddKernelNode_v2, &nodes[1], g, NUL, SIZE(0), &kernel);
    /* an event in a graph is recorded by its launch */
    OK(cuEventCreate, &e, 0);
    OK(cuGraphAddEventRecordNode, &nodes[1], g, &nodes[0], SIZE(1), e);
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    OK(cuGraphLaunch, x, NUL);
    OK(cuEventSynchronize, e);
    OK(cuEventQuery, e);
    int ended = 0;
    P object;
    OK(cuUserObjectCreate, &object, &ended, gone, 1, 1);
    OK(cuGraphRetainUserObject, g, object, 1, 1);
    TRUE(ended == 0);
    OK(cuGraphExecDestroy, x);
    OK(cuGraphDestroy, g);
    TRUE(ended == 1);
    IS(1, cuGraphKernelNodeGetParams_v2, nodes[0], &told);
}

static void captured(void) {
    P e, join, g, x, nodes[8];
    int status = 7;
    U id = 0;
    OK(cuEventCreate, &e, 2);
    OK(cuEventCreate, &join, 2);
    OK(cuStreamBeginCapture_v2, s, 0);
    OK(cuMemsetD8Async, memory, 1, SIZE(64), s);
    OK(cuEventRecord, e, s);
    OK(cuStreamWaitEvent, t, e, 0);
    OK(cuMemsetD8Async, memory + 8, 2, SIZE(8), t);
    OK(cuMemsetD8Async, memory + 16, 3, SIZE(8), s);
    OK(cuStreamGetCaptureInfo, t, &status, &id);
    TRUE(status == 1 && id != 0);
    OK(cuEventRecord, join, t);
    OK(cuStreamWaitEvent, s, join, 0);
    OK(cuMemcpyDtoHAsync_v2, back, memory, SIZE(64), s);
    OK(cuLaunchHostFunc, s, step, (P)9);
    OK(cuStreamEndCapture, s, &g);
    OK(cuStreamIsCapturing, t, &status);
    TRUE(status == 0);
    size_t n = 8;
    OK(cuGraphGetNodes, g, nodes, &n);
    TRUE(n == 5);
    n = 8;
    OK(cuGraphNodeGetDependencies, nodes[3], NUL, &n);
    TRUE(n == 2); /* the copy is behind both branches */
    memset(back, 0, sizeof back);
    count = 0;
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    OK(cuCtxSynchronize);
    TRUE(count == 0 && back[0] == 0); /* captured, not done */
    OK(cuGraphLaunch, x, s);
    OK(cuStreamSynchronize, s);
    TRUE(count == 1 && steps[0] == 9);
    TRUE(back[0] == 1 && back[8] == 2 && back[16] == 3 && back[24] == 1);
    /* a graph inside of another one; its launch is nothing that a capture can keep */
    P outer, child;
    OK(cuGraphCreate, &outer, 0);
    OK(cuGraphAddChildGraphNode, &child, outer, NUL, SIZE(0), g);
    OK(cuGraphDestroy, g);
    OK(cuGraphChildGraphNodeGetGraph, child, &g);
    IS(1, cuGraphDestroy, g);
    OK(cuGraphExecDestroy, x);
    OK(cuGraphInstantiateWithFlags, &x, outer, (U)0);
    OK(cuGraphLaunch, x, s);
    OK(cuStreamBeginCapture_v2, s, 2);
    IS(900, cuGraphLaunch, x, s);
    IS(901, cuStreamEndCapture, s, &g);
    OK(cuGraphLaunch, x, s);
    OK(cuStreamSynchronize, s);
    TRUE(count == 3);
    OK(cuGraphDestroy, outer);
    OK(cuGraphExecDestroy, x);
    /* memory that a capture allocates has an address at once */
    U inside = 0, again = 0;
    OK(cuStreamBeginCapture_v2, s, 0);
    OK(cuMemAllocAsync, &inside, SIZE(4096), s);
    OK(cuMemsetD8Async, inside, 4, SIZE(4096), s);
    OK(cuMemcpyDtoHAsync_v2, back, inside, SIZE(64), s);
    OK(cuMemFreeAsync, inside, s);
    OK(cuStreamEndCapture, s, &g);
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    for (int i = 0; i < 3; i++) OK(cuGraphLaunch, x, s);
    OK(cuStreamSynchronize, s);
    TRUE(inside && back[63] == 4);
    OK(cuGraphDestroy, g);
    OK(cuGraphLaunch, x, s);
    OK(cuStreamSynchronize, s);
    OK(cuGraphExecDestroy, x);
    IS(500, cuMemGetAddressRange_v2, &again, &n, inside);
}

/* The first operation of a launch waits until the program is done with destroying what was launched. */
static volatile int gate;
static void at_gate(void *data) { while (!gate) usleep(1000); }

static void destroyed_while_it_runs(void) {
    P g, x;
    U inside = 0, start = 0;
    size_t n = 0;
    OK(cuStreamBeginCapture_v2, s, 0);
    OK(cuLaunchHostFunc, s, at_gate, NUL);
    OK(cuMemAllocAsync, &inside, SIZE(4096), s);
    OK(cuMemsetD8Async, inside, 6, SIZE(4096), s);
    OK(cuMemcpyDtoHAsync_v2, back, inside, SIZE(64), s);
    OK(cuMemFreeAsync, inside, s);
    OK(cuStreamEndCapture, s, &g);
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    memset(back, 0, sizeof back);
    gate = 0;
    OK(cuGraphLaunch, x, s);
    OK(cuGraphLaunch, x, s);
    OK(cuGraphExecDestroy, x);
    OK(cuGraphDestroy, g);
    OK(cuMemGetAddressRange_v2, &start, &n, inside); /* still there */
    TRUE(start == inside && n == 4096);
    gate = 1;
    OK(cuStreamSynchronize, s);
    TRUE(back[0] == 6 && back[63] == 6);
    IS(500, cuMemGetAddressRange_v2, &start, &n, inside);
}

/* Memory outlives its graph until it is freed, once and in its turn; so does that of a pool. */
static void freed_in_turn(void) {
    P g, x;
    U memory_of[2] = { 0 }, start = 0;
    size_t n = 0;
    OK(cuStreamBeginCapture_v2, s, 0);
    OK(cuMemAllocAsync, &memory_of[0], SIZE(4096), s);
    OK(cuMemsetD8Async, memory_of[0], 9, SIZE(4096), s);
    OK(cuStreamEndCapture, s, &g);
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    OK(cuGraphLaunch, x, s);
    OK(cuGraphExecDestroy, x);
    OK(cuGraphDestroy, g);
    OK(cuMemAllocAsync, &memory_of[1], SIZE(4096), s);
    OK(cuMemsetD8Async, memory_of[1], 9, SIZE(4096), s);
    for (int i = 0; i < 2; i++) {
        memset(back, 0, sizeof back);
        gate = 0;
        OK(cuLaunchHostFunc, s, at_gate, NUL);
        OK(cuMemcpyDtoDAsync_v2, memory, memory_of[i], SIZE(64), s);
        OK(cuMemFreeAsync, memory_of[i], s);
        IS(1, cuMemFreeAsync, memory_of[i], s);
        IS(1, cuMemFree_v2, memory_of[i]);
        OK(cuMemGetAddressRange_v2, &start, &n, memory_of[i]); /* its turn has not come */
        gate = 1;
        OK(cuStreamSynchronize, s);
        OK(cuMemcpyDtoH_v2, back, memory, SIZE(64));
        TRUE(back[0] == 9 && back[63] == 9);
        IS(500, cuMemGetAddressRange_v2, &start, &n, memory_of[i]);
        IS(1, cuMemFreeAsync, memory_of[i], s);
    }
}

/* What a node is told to do instead is looked at as when it was added. */
static void told_otherwise(void) {
    P g, x, node;
    struct set set = { memory, 0, 1, 1, 64, 1 };
    OK(cuGraphCreate, &g, 0);
    OK(cuGraphAddMemsetNode, &node, g, NUL, SIZE(0), &set, context);
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    set.width = 1000000000;
    IS(1, cuGraphAddMemsetNode, &node, g, NUL, SIZE(0), &set, context);
    IS(1, cuGraphExecMemsetNodeSetParams, x, node, &set, context);
    IS(1, cuGraphMemsetNodeSetParams, node, &set);
    set.width = 32, set.value = 2;
    OK(cuGraphExecMemsetNodeSetParams, x, node, &set, context);
    OK(cuGraphLaunch, x, s);
    OK(cuStreamSynchronize, s);
    OK(cuMemcpyDtoH_v2, back, memory, SIZE(64));
    TRUE(back[0] == 2 && back[31] == 2 && back[32] != 2);
    OK(cuGraphExecDestroy, x);
    OK(cuGraphDestroy, g);
}

/* Memory that a launch frees cannot be a graph's that the device launches. */
static void flags(void) {
    P g, x = NULL, list[2];
    struct { U flags; P stream, wrong; unsigned result; } how = { 5 };
    OK(cuGraphCreate, &g, 0);
    OK(cuGraphAddEmptyNode, &list[0], g, NUL, SIZE(0));
    IS(1, cuGraphInstantiateWithFlags, &x, g, (U)5);
    IS(1, cuGraphInstantiateWithFlags, &x, g, (U)15);
    IS(1, cuGraphInstantiateWithParams, &x, g, &how);
    TRUE(how.result == 1 && !how.wrong && !x);
    for (U one = 1; one <= 2; one++) { /* upload is for the form with parameters alone */
        how.flags = one, how.result = 7;
        OK(cuGraphInstantiateWithParams, &x, g, &how);
        TRUE(how.result == 0);
        OK(cuGraphExecGetFlags, x, &how.flags);
        TRUE(how.flags == one);
        OK(cuGraphExecDestroy, x);
    }
    OK(cuGraphInstantiateWithFlags, &x, g, (U)9);
    OK(cuGraphExecDestroy, x);
    IS(1, cuGraphInstantiateWithFlags, &x, g, (U)2);
    IS(1, cuGraphInstantiateWithFlags, &x, g, (U)10);
    OK(cuGraphAddEmptyNode, &list[1], g, &list[0], SIZE(1));
    OK(cuGraphAddDependencies, g, &list[1], &list[0], SIZE(1));
    how.flags = 0;
    IS(1, cuGraphInstantiateWithParams, &x, g, &how);
    TRUE(how.result == 2); /* the form of the graph is at fault */
    OK(cuGraphDestroy, g);
}

static int hits;
static void hit(void *data) { __sync_fetch_and_add(&hits, 1); }

/* each thread captures and launches for itself */
static void *many(void *data) {
    U own;
    P stream, g, x;
    unsigned char first;
    OK(cuCtxSetCurrent, context);
    OK(cuStreamCreate, &stream, 1);
    OK(cuMemAlloc_v2, &own, SIZE(4096));
    for (int i = 0; i < 100; i++) {
        OK(cuStreamBeginCapture_v2, stream, 1);
        OK(cuMemsetD8Async, own, i, SIZE(4096), stream);
        OK(cuLaunchHostFunc, stream, hit, NUL);
        OK(cuStreamEndCapture, stream, &g);
        OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
        OK(cuGraphLaunch, x, stream);
        OK(cuGraphLaunch, x, stream);
        OK(cuStreamSynchronize, stream);
        OK(cuMemcpyDtoH_v2, &first, own, SIZE(1));
        TRUE(first == i);
        OK(cuGraphExecDestroy, x);
        OK(cuGraphDestroy, g);
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[6];
    for (int i = 0; i < 6; i++) pthread_create(&all[i], NULL, many, NULL);
    for (int i = 0; i < 6; i++) pthread_join(all[i], NULL);
    TRUE(hits == 6 * 100 * 2);
}

int main(void) {
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    OK(cuStreamCreate, &s, 1);
    OK(cuStreamCreate, &t, 1);
    OK(cuMemAlloc_v2, &memory, SIZE(64));
    by_hand();
    captured();
    destroyed_while_it_runs();
    freed_in_turn();
    told_otherwise();
    flags();
    threads();
    puts("all is well");
    return 0;
}
