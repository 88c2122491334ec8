/* Part of wrong_uses.c: capture and graphs. */

static P s, t, e, g, x;
static P node, child, list[8];

static void capture(void) {
    int status;
    start();
    DO(cuStreamCreate, &s, 1);
    DO(cuStreamCreate, &t, 1);
    DO(cuEventCreate, &e, 2);
    DO(cuMemAlloc_v2, &a, SIZE(100));
    C(cuStreamBeginCapture_v2, "NULL stream", NUL, 0);
    C(cuStreamBeginCapture_v2, "legacy stream", (P)1, 0);
    C(cuStreamBeginCapture_v2, "mode 9", s, 9);
    C(cuStreamBeginCapture_v2, "bad stream", BAD, 0);
    C(cuStreamEndCapture, "not capturing", s, &g);
    C(cuStreamUpdateCaptureDependencies, "not capturing", s, NUL, SIZE(0), 0);
    C(cuStreamIsCapturing, "not capturing", s, &status);
    T("status", status);
    DO(cuStreamBeginCapture_v2, s, 2);
    C(cuStreamBeginCapture_v2, "twice", s, 2);
    C(cuStreamIsCapturing, "capturing", s, &status);
    T("status", status);
    C(cuStreamIsCapturing, "legacy stream while another captures", NUL, &status);
    C(cuStreamEndCapture, "another stream", t, &g);
    C(cuMemcpyHtoDAsync_v2, "captured", a, bytes, SIZE(16), s);
    C(cuMemsetD8Async, "captured", a, 0, SIZE(16), s);
    C(cuLaunchHostFunc, "captured", s, host, NUL);
    C(cuEventRecord, "captured", e, s);
    C(cuEventQuery, "captured event", e);
    C(cuEventSynchronize, "captured event", e);
    C(cuStreamWaitEvent, "into the capture", t, e, 0);
    C(cuStreamIsCapturing, "joined", t, &status);
    T("status", status);
    C(cuStreamDestroy_v2, "joined", t);
    DO(cuStreamCreate, &t, 1);
    C(cuStreamEndCapture, "unjoined work destroyed", s, &g);
    DO(cuStreamBeginCapture_v2, s, 2);
    C(cuStreamEndCapture, "empty", s, &g);
    T("a graph", g != 0);
    C(cuGraphGetNodes, "of an empty capture", g, NUL, &z);
    T("nodes", z);
    DO(cuStreamBeginCapture_v2, s, 2);
    DO(cuEventRecord, e, s);
    DO(cuStreamWaitEvent, t, e, 0);
    DO(cuMemsetD8Async, a, 0, SIZE(16), t);
    C(cuStreamEndCapture, "unjoined", s, &g);
    T("a graph of an unjoined capture", g != 0);
    DO(cuStreamBeginCapture_v2, s, 2);
    C(cuMemAlloc_v2, "relaxed capture", &b, SIZE(16));
    C(cuStreamEndCapture, "NULL output", s, NUL);
}

static void broken_capture(void) {
    int status;
    start();
    DO(cuStreamCreate, &s, 1);
    DO(cuMemAlloc_v2, &a, SIZE(100));
#define BROKEN(name, what, ...) do { DO(cuStreamBeginCapture_v2, s, 0); C(name, what, __VA_ARGS__); \
    C(cuStreamIsCapturing, "after " #name " " what, s, &status); T("status", status); \
    C(cuStreamEndCapture, "after " #name " " what, s, &g); } while (0)
    BROKEN(cuStreamSynchronize, "while capturing", s);
    BROKEN(cuStreamQuery, "while capturing", s);
    BROKEN(cuCtxSynchronize, "while capturing", context);
    BROKEN(cuMemAlloc_v2, "while capturing", &b, SIZE(16));
    BROKEN(cuMemcpyHtoD_v2, "while capturing", a, bytes, SIZE(16));
    BROKEN(cuMemsetD8_v2, "while capturing", a, 0, SIZE(16));
    BROKEN(cuStreamSynchronize, "legacy while capturing", NUL);
    BROKEN(cuMemcpyHtoDAsync_v2, "legacy while capturing", a, bytes, SIZE(16), NUL);
    BROKEN(cuStreamAddCallback, "while capturing", s, after, NUL, 0);
    BROKEN(cuMemcpyHtoDAsync_v2, "past the end while capturing", a, bytes, SIZE(1) << 40, s);
    BROKEN(cuModuleLoadData, "while capturing", &b, ptx);
    BROKEN(cuStreamDestroy_v2, "while capturing", s);
}

static void graphs(void) {
    start();
    C(cuGraphCreate, "NULL", NUL, 0);
    C(cuGraphCreate, "flags 1", &g, 1);
    C(cuGraphDestroy, "NULL", NUL);
    DO(cuGraphCreate, &g, 0);
    C(cuGraphAddEmptyNode, "NULL output", NUL, g, NUL, SIZE(0));
    C(cuGraphAddEmptyNode, "NULL graph", &node, NUL, NUL, SIZE(0));
    C(cuGraphAddEmptyNode, "NULL dependencies", &node, g, NUL, SIZE(1));
    DO(cuGraphAddEmptyNode, &list[0], g, NUL, SIZE(0));
    DO(cuGraphAddEmptyNode, &list[1], g, &list[0], SIZE(1));
    list[2] = list[3] = list[0];
    C(cuGraphAddEmptyNode, "the same dependency twice", &node, g, &list[2], SIZE(2));
    list[4] = list[1];
    C(cuGraphAddDependencies, "there already", g, &list[0], &list[4], SIZE(1));
    C(cuGraphAddDependencies, "on itself", g, &list[0], &list[2], SIZE(1));
    C(cuGraphAddDependencies, "NULL", g, NUL, NUL, SIZE(1));
    C(cuGraphAddDependencies, "a circle", g, &list[1], &list[0], SIZE(1));
    C(cuGraphInstantiateWithFlags, "a circle", &x, g, (U)0);
    DO(cuGraphRemoveDependencies, g, &list[1], &list[0], SIZE(1));
    C(cuGraphRemoveDependencies, "not there", g, &list[1], &list[0], SIZE(1));
    C(cuGraphGetNodes, "NULL count", g, NUL, NUL);
    z = 1;
    C(cuGraphGetNodes, "room for one", g, list + 5, &z);
    T("nodes", z);
    z = 8;
    C(cuGraphGetEdges, "from without to", g, list + 5, NUL, &z);
    C(cuGraphGetRootNodes, "NULL count", g, NUL, NUL);
    C(cuGraphNodeGetType, "NULL output", list[0], NUL);
    C(cuGraphNodeGetType, "NULL node", NUL, &n);
    C(cuGraphNodeGetDependencies, "NULL count", list[0], NUL, NUL);
    C(cuGraphClone, "NULL output", NUL, g);
    C(cuGraphClone, "NULL graph", &x, NUL);
    DO(cuGraphClone, &child, g);
    C(cuGraphNodeFindInClone, "not a clone", &node, list[0], g);
    C(cuGraphNodeFindInClone, "a clone", &node, list[0], child);
    C(cuGraphAddChildGraphNode, "itself", &node, g, NUL, SIZE(0), g);
    C(cuGraphAddChildGraphNode, "NULL child", &node, g, NUL, SIZE(0), NUL);
    DO(cuGraphCreate, &x, 0);
    C(cuGraphAddEmptyNode, "dependency of another graph", &node, x, &list[0], SIZE(1));
    C(cuGraphAddDependencies, "of another graph", x, &list[0], &list[4], SIZE(1));
    C(cuGraphDestroyNode, "NULL", NUL);
    C(cuGraphDestroyNode, "once", list[1]);
    C(cuGraphDestroyNode, "twice", list[1]);
    C(cuGraphDebugDotPrint, "no such folder", g, "/no/such/folder/x.dot", 0);
    C(cuGraphDebugDotPrint, "NULL path", g, NUL, 0);
    C(cuGraphDestroy, "once", child);
    C(cuGraphDestroy, "twice", child);
    C(cuGraphDestroy, "bad", BAD);
}

static void nodes(void) {
    struct { P fun; unsigned grid[3], block[3], shared; P *params, *extra; U more[2]; } kernel = { 0 };
    struct { U to; size_t pitch; unsigned value, element; size_t width, height; } set = { 0, 0, 0, 1, 16, 1 };
    struct { P fun, data; } function = { 0, 0 };
    U copy[25] = { 0 };
    P mod, f;
    start();
    DO(cuModuleLoadData, &mod, ptx);
    DO(cuModuleGetFunction, &f, mod, "f");
    DO(cuMemAlloc_v2, &a, SIZE(100));
    DO(cuGraphCreate, &g, 0);
    C(cuGraphAddKernelNode_v2, "NULL", &node, g, NUL, SIZE(0), NUL);
    C(cuGraphAddKernelNode_v2, "all zero", &node, g, NUL, SIZE(0), &kernel);
    kernel.fun = f;
    C(cuGraphAddKernelNode_v2, "grid 0", &node, g, NUL, SIZE(0), &kernel);
    for (n = 0; n < 3; n++) kernel.grid[n] = kernel.block[n] = 1;
    C(cuGraphAddKernelNode_v2, "no parameters given", &node, g, NUL, SIZE(0), &kernel);
    DO(cuModuleGetFunction, &kernel.fun, mod, "g");
    kernel.block[0] = 2000;
    C(cuGraphAddKernelNode_v2, "block of 2000", &node, g, NUL, SIZE(0), &kernel);
    kernel.block[0] = 1, kernel.shared = 1 << 20;
    C(cuGraphAddKernelNode_v2, "shared memory of 1 MiB", &node, g, NUL, SIZE(0), &kernel);
    kernel.shared = 0;
    DO(cuGraphAddKernelNode_v2, &node, g, NUL, SIZE(0), &kernel);
    C(cuGraphMemcpyNodeGetParams, "of a kernel", node, copy);
    C(cuGraphKernelNodeGetParams_v2, "NULL", node, NUL);
    C(cuGraphKernelNodeSetParams_v2, "NULL", node, NUL);
    C(cuGraphKernelNodeGetAttribute, "attribute 99", node, 99, room);
    C(cuGraphAddMemsetNode, "NULL", &node, g, NUL, SIZE(0), NUL, context);
    C(cuGraphAddMemsetNode, "NULL address", &node, g, NUL, SIZE(0), &set, context);
    set.to = a, set.element = 3;
    C(cuGraphAddMemsetNode, "element of 3", &node, g, NUL, SIZE(0), &set, context);
    set.element = 1;
    C(cuGraphAddMemsetNode, "NULL context", &node, g, NUL, SIZE(0), &set, NUL);
    set.width = 1ul << 40;
    C(cuGraphAddMemsetNode, "past the end", &node, g, NUL, SIZE(0), &set, context);
    C(cuGraphAddMemcpyNode, "NULL", &node, g, NUL, SIZE(0), NUL, context);
    C(cuGraphAddMemcpyNode, "all zero", &node, g, NUL, SIZE(0), copy, context);
    C(cuGraphAddHostNode, "NULL", &node, g, NUL, SIZE(0), NUL);
    C(cuGraphAddHostNode, "NULL function", &node, g, NUL, SIZE(0), &function);
    C(cuGraphAddEventRecordNode, "NULL event", &node, g, NUL, SIZE(0), NUL);
    C(cuGraphAddEventWaitNode, "NULL event", &node, g, NUL, SIZE(0), NUL);
    C(cuGraphAddMemFreeNode, "wild", &node, g, NUL, SIZE(0), (U)0x1234);
    C(cuGraphAddMemFreeNode, "cuMemAlloc's", &node, g, NUL, SIZE(0), a);
    C(cuGraphAddMemAllocNode, "NULL", &node, g, NUL, SIZE(0), NUL);
    memset(room, 0, sizeof room);
    C(cuGraphAddMemAllocNode, "all zero", &node, g, NUL, SIZE(0), room);
    C(cuGraphAddNode_v2, "NULL", &node, g, NUL, NUL, SIZE(0), NUL);
    *(int *)room = 99;
    C(cuGraphAddNode_v2, "type 99", &node, g, NUL, NUL, SIZE(0), room);
    *(int *)room = 5;
    C(cuGraphAddNode_v2, "empty", &node, g, NUL, NUL, SIZE(0), room);
    room[31] = 1;
    C(cuGraphAddNode_v2, "reserved word set", &node, g, NUL, NUL, SIZE(0), room);
    C(cuGraphConditionalHandleCreate, "NULL output", NUL, g, context, 0, 0);
    C(cuGraphConditionalHandleCreate, "flags 9", &b, g, context, 0, 9);
    C(cuUserObjectCreate, "NULL output", NUL, NUL, host, 1, 1);
    C(cuUserObjectCreate, "count 0", &b, NUL, host, 0, 1);
    C(cuUserObjectCreate, "flags 0", &b, NUL, host, 1, 0);
    DO(cuUserObjectCreate, &b, NUL, host, 1, 1);
    C(cuUserObjectRelease, "more than there are", b, 2);
    C(cuGraphRetainUserObject, "count 0", g, b, 0, 0);
}

/* What graphs can be instantiated with, and what is said of those that cannot. */
static void instantiated(void) {
    struct { U flags; P stream, wrong; unsigned result, rest; } how;
    struct { P run, data; } function = { host, 0 };
    struct { P fun; unsigned grid[3], block[3], shared; P *params, *extra, kern, context; } kernel = { 0 };
    U want[16] = { 1, 1 };
#define WITH(given, what) do { memset(&how, 0xff, sizeof how), how.flags = given, how.stream = NUL, x = NUL; \
    C(cuGraphInstantiateWithParams, what, &x, g, &how); \
    T(what ": result", (int)how.result); T(what ": node", !how.wrong ? 0 : how.wrong == node ? 1 : 2); T(what ": made", x != NUL); } while (0)
#define NEW() DO(cuGraphCreate, &g, 0)
    DO(cuModuleLoadData, &kernel.context, ptx);
    DO(cuModuleGetFunction, &kernel.fun, kernel.context, "g");
    kernel.context = NUL;
    for (n = 0; n < 3; n++) kernel.grid[n] = kernel.block[n] = 1;
    NEW();
    node = NUL;
    C(cuGraphInstantiateWithFlags, "nothing, launched from the device", &x, g, (U)4);
    C(cuGraphInstantiateWithFlags, "nothing, freed and launched from the device", &x, g, (U)5);
    WITH(4, "nothing, launched from the device");
    DO(cuGraphAddKernelNode_v2, &node, g, NUL, SIZE(0), &kernel);
    C(cuGraphInstantiateWithFlags, "a kernel, launched from the device", &x, g, (U)4);
    C(cuGraphInstantiateWithFlags, "a kernel, freed and launched from the device", &x, g, (U)5);
    C(cuGraphInstantiateWithFlags, "a kernel, every flag", &x, g, (U)15);
    C(cuGraphInstantiateWithFlags, "a kernel, uploaded", &x, g, (U)2);
    WITH(5, "a kernel, freed and launched from the device");
    WITH(4, "a kernel, launched from the device");
    WITH(2, "a kernel, uploaded");
    WITH(0x100, "a kernel, flags 0x100");
    NEW();
    DO(cuGraphAddHostNode, &node, g, NUL, SIZE(0), &function);
    C(cuGraphInstantiateWithFlags, "a host node, launched from the device", &x, g, (U)4);
    WITH(4, "a host node, launched from the device");
    NEW();
    DO(cuGraphAddMemAllocNode, &node, g, NUL, SIZE(0), (want[13] = 4096, want));
    WITH(4, "memory, launched from the device");
    NEW();
    DO(cuGraphAddEmptyNode, &list[0], g, NUL, SIZE(0));
    WITH(4, "an empty node, launched from the device");
    DO(cuGraphAddEmptyNode, &node, g, &list[0], SIZE(1));
    DO(cuGraphAddDependencies, g, &node, &list[0], SIZE(1));
    WITH(0, "a circle");
    WITH(4, "a circle, launched from the device");
}

static void executables(void) {
    struct { P fun, data; } function = { host, 0 };
    U info[4] = { 0 };
    start();
    DO(cuGraphCreate, &g, 0);
    DO(cuGraphAddEmptyNode, &node, g, NUL, SIZE(0));
    C(cuGraphInstantiateWithFlags, "NULL output", NUL, g, (U)0);
    C(cuGraphInstantiateWithFlags, "NULL graph", &x, NUL, (U)0);
    C(cuGraphInstantiateWithFlags, "flags 0x100", &x, g, (U)0x100);
    C(cuGraphInstantiateWithParams, "NULL", &x, g, NUL);
    C(cuGraphLaunch, "NULL", NUL, NUL);
    C(cuGraphUpload, "NULL", NUL, NUL);
    C(cuGraphExecDestroy, "NULL", NUL);
    DO(cuGraphInstantiateWithFlags, &x, g, (U)0);
    C(cuGraphLaunch, "bad stream", x, BAD);
    C(cuGraphLaunch, "into the legacy stream", x, NUL);
    C(cuGraphExecGetFlags, "NULL output", x, NUL);
    C(cuGraphExecHostNodeSetParams, "an empty node", x, node, &function);
    C(cuGraphExecUpdate_v2, "NULL graph", x, NUL, info);
    C(cuGraphExecUpdate_v2, "NULL result", x, g, NUL);
    C(cuGraphExecUpdate_v2, "the same", x, g, info);
    T("result", (int)info[0]);
    DO(cuGraphCreate, &child, 0);
    C(cuGraphExecUpdate_v2, "an empty graph", x, child, info);
    T("result", (int)info[0]);
    DO(cuGraphAddHostNode, &list[0], child, NUL, SIZE(0), &function);
    C(cuGraphExecUpdate_v2, "another kind of node", x, child, info);
    T("result", (int)info[0]);
    C(cuGraphNodeSetEnabled, "an empty node", x, node, 0);
    C(cuGraphNodeGetEnabled, "node of another graph", x, list[0], &n);
    C(cuGraphExecHostNodeSetParams, "node of another graph", x, list[0], &function);
    C(cuGraphDestroyNode, "of an instantiated graph", node);
    C(cuGraphExecDestroy, "once", x);
    C(cuGraphExecDestroy, "twice", x);
    C(cuGraphLaunch, "destroyed", x, NUL);
    C(cuDeviceGetGraphMemAttribute, "attribute 9", 0, 9, &a);
    C(cuDeviceSetGraphMemAttribute, "bytes in use", 0, 0, &a);
    C(cuDeviceGraphMemTrim, "device 99", 99);
    instantiated();
}

/* Memory that a graph allocates: whose it is, and when it may go. */
static void graph_memory(void) {
    U want[16] = { 1, 1 }, got[16], other; /* a device's memory, pinned */
    int long_time = 100000;
    P free_node;
    start();
    DO(cuStreamCreate, &s, 1);
#define GRAPH() do { DO(cuGraphCreate, &g, 0); memcpy(got, want, sizeof got), got[13] = 4096; \
    DO(cuGraphAddMemAllocNode, &node, g, NUL, SIZE(0), got); d = got[14]; } while (0)
#define MADE(flags) do { GRAPH(); DO(cuGraphInstantiateWithFlags, &x, g, (U)flags); } while (0)
    GRAPH();
    C(cuGraphAddMemFreeNode, "memory of the same graph, no edge", &list[0], g, NUL, SIZE(0), d);
    GRAPH();
    DO(cuGraphAddEmptyNode, &list[0], g, &node, SIZE(1));
    C(cuGraphAddMemFreeNode, "memory of the same graph, behind another node", &list[1], g, &list[0], SIZE(1), d);
    C(cuGraphAddMemFreeNode, "memory of the same graph twice", &list[2], g, &node, SIZE(1), d);
    C(cuGraphDestroyNode, "that allocates", node);
    C(cuGraphDestroyNode, "that frees", list[1]);
    C(cuGraphRemoveDependencies, "between memory and its user", g, &node, &list[0], SIZE(1));
    C(cuGraphClone, "with memory", &child, g);
    GRAPH();
    DO(cuGraphAddMemFreeNode, &free_node, g, &node, SIZE(1), d);
    DO(cuGraphInstantiateWithFlags, &x, g, (U)0);
    C(cuMemFree_v2, "of a graph that frees it itself", d);
    C(cuGraphLaunch, "that frees its memory", x, s);
    C(cuGraphLaunch, "that frees its memory again", x, s);
    C(cuMemFree_v2, "of a graph that freed it itself", d);
    MADE(0);
    C(cuMemFree_v2, "of a graph before its launch", d);
    C(cuMemFreeAsync, "of a graph before its launch", d, s);
    C(cuGraphInstantiateWithFlags, "a second time with memory", &child, g, (U)0);
    C(cuGraphAddEmptyNode, "to an instantiated graph with memory", &list[0], g, NUL, SIZE(0));
    C(cuGraphAddMemFreeNode, "to an instantiated graph", &list[0], g, &node, SIZE(1), d);
    C(cuGraphExecDestroy, "with memory that was never there", x);
    C(cuGraphInstantiateWithFlags, "with memory, when the first is gone", &x, g, (U)0);
    MADE(0);
    C(cuGraphLaunch, "with memory", x, s);
    C(cuGraphLaunch, "with memory that is not freed", x, s);
    C(cuMemFree_v2, "of a graph after its launch", d);
    C(cuMemFree_v2, "of a graph twice", d);
    C(cuMemFreeAsync, "of a graph that is freed", d, s);
    C(cuGraphLaunch, "with memory that is freed", x, s);
    C(cuMemFreeAsync, "of a graph", d, s);
    C(cuMemFreeAsync, "of a graph twice", d, s);
    C(cuGraphLaunch, "with memory that is freed in order", x, s);
    C(cuGraphExecDestroy, "with memory", x);
    C(cuGraphDestroy, "with memory", g);
    C(cuMemFree_v2, "of a graph that is gone", d);
    C(cuMemFree_v2, "of a graph that is gone twice", d);
    MADE(1);
    C(cuGraphLaunch, "that frees at launch", x, s);
    C(cuGraphLaunch, "that frees at launch, again", x, s);
    C(cuMemFree_v2, "of a graph that frees at launch", d);
    MADE(0);
    C(cuGraphLaunch, "before another graph frees", x, s);
    other = d;
    DO(cuGraphCreate, &child, 0);
    C(cuGraphAddMemFreeNode, "memory of another graph", &list[2], child, NUL, SIZE(0), other);
    C(cuGraphInstantiateWithFlags, "that frees another's memory", &child, child, (U)0);
    C(cuGraphLaunch, "that frees another's memory", child, s);
    C(cuGraphLaunch, "that frees another's memory twice", child, s);
    C(cuStreamSynchronize, "after them", s);
    C(cuGraphLaunch, "whose memory another graph freed", x, s);
    MADE(0);
    DO(cuLaunchHostFunc, s, host, &long_time);
    C(cuGraphLaunch, "queued", x, s);
    C(cuGraphLaunch, "queued without a free", x, s);
    C(cuMemFreeAsync, "of a queued graph", d, s);
    C(cuMemFreeAsync, "of a queued graph twice", d, s);
    C(cuGraphLaunch, "queued behind the free", x, s);
    C(cuStreamSynchronize, "behind queued graphs", s);
}

/* Memory of a pool that goes twice. */
static void twice(void) {
    int long_time = 100000;
    start();
    DO(cuStreamCreate, &s, 1);
    DO(cuMemAllocAsync, &c, SIZE(100), s);
    C(cuMemFree_v2, "of a pool", c);
    C(cuMemFree_v2, "of a pool twice", c);
    DO(cuMemAllocAsync, &c, SIZE(100), s);
    C(cuMemFreeAsync, "of a pool", c, s);
    C(cuMemFreeAsync, "of a pool twice", c, s);
    DO(cuMemAlloc_v2, &a, SIZE(100));
    C(cuMemFreeAsync, "of cuMemAlloc", a, s);
    C(cuStreamSynchronize, "after frees", s);
    DO(cuMemAllocAsync, &c, SIZE(100), s);
    DO(cuLaunchHostFunc, s, host, &long_time);
    C(cuMemFreeAsync, "of a pool, queued", c, s);
    C(cuMemFreeAsync, "of a pool, queued twice", c, s);
    C(cuMemFree_v2, "of a pool with a free queued", c);
    C(cuStreamSynchronize, "behind queued frees", s);
    DO(cuMemAllocAsync, &c, SIZE(100), s);
    DO(cuGraphCreate, &g, 0);
    C(cuGraphAddMemFreeNode, "memory of a pool", &node, g, NUL, SIZE(0), c);
    DO(cuStreamCreate, &t, 1);
    DO(cuStreamBeginCapture_v2, t, 2);
    C(cuMemFreeAsync, "of a pool while capturing", c, t);
    C(cuStreamIsCapturing, "after it", t, &n);
    T("status", n);
    C(cuStreamEndCapture, "after it", t, &g);
    C(cuMemFree_v2, "of a pool after a capture", c);
}
