/* Ends of captures, nodes for events, graphs that a kernel launches, and graphs as text; as driver 580 of an H100 and an H200 has them. */
#include "check.h"

static P s, t, context, fun;
static U memory;
static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry named() { ret; }\n";

static int status(P stream) {
    int found = 7;
    OK(cuStreamIsCapturing, stream, &found);
    return found;
}

/* A stream that joined cannot end the capture, and the capture is of no use when it has been asked to. */
static void ended_elsewhere(void) {
    P e, g = (P)1;
    OK(cuEventCreate, &e, 2);
    OK(cuStreamBeginCapture_v2, s, 0);
    IS(401, cuStreamEndCapture, t, &g); /* not yet part of it, so no harm is done */
    TRUE(status(s) == 1);
    OK(cuEventRecord, e, s);
    OK(cuStreamWaitEvent, t, e, 0);
    OK(cuMemsetD8Async, memory, 1, SIZE(64), t);
    IS(903, cuStreamEndCapture, t, &g);
    TRUE(status(s) == 2 && status(t) == 2);
    IS(901, cuMemsetD8Async, memory, 1, SIZE(64), t);
    IS(901, cuMemsetD8Async, memory, 1, SIZE(64), s);
    IS(901, cuStreamEndCapture, s, &g);
    TRUE(status(s) == 0 && status(t) == 0);
    OK(cuEventDestroy_v2, e);
}

/* Of an event that is recorded or waited for from outside, a capture keeps a node. */
static void events_from_outside(void) {
    P e, g, x, nodes[4];
    size_t n = 4;
    int kind;
    OK(cuEventCreate, &e, 2);
    IS(401, cuEventRecordWithFlags, e, s, 1); /* for captures alone */
    IS(401, cuStreamWaitEvent, s, e, 1);
    OK(cuStreamBeginCapture_v2, s, 0);
    OK(cuStreamWaitEvent, s, e, 1);
    OK(cuEventRecordWithFlags, e, s, 1);
    OK(cuStreamEndCapture, s, &g);
    OK(cuGraphGetNodes, g, nodes, &n);
    TRUE(n == 2);
    OK(cuGraphNodeGetType, nodes[0], &kind);
    TRUE(kind == 6);
    OK(cuGraphNodeGetType, nodes[1], &kind);
    TRUE(kind == 7);
    n = 2;
    OK(cuGraphNodeGetDependencies, nodes[1], &nodes[2], &n);
    TRUE(n == 1 && nodes[2] == nodes[0]);
    OK(cuEventQuery, e); /* not an event of the capture */
    OK(cuGraphInstantiateWithFlags, &x, g, (U)0);
    OK(cuGraphLaunch, x, s);
    OK(cuEventSynchronize, e);
    OK(cuGraphExecDestroy, x);
    OK(cuGraphDestroy, g);
    OK(cuEventDestroy_v2, e);
}

static void nothing(void *data) {}
static void kernel(void) { OK(cuLaunchKernel, fun, 2, 3, 1, 4, 1, 1, 16, s, NUL, NUL); }
static void copy(void) { OK(cuMemcpyDtoDAsync_v2, memory, memory + 512, SIZE(128), s); }
static void set(void) { OK(cuMemsetD8Async, memory, 5, SIZE(100), s); }
static void host(void) { OK(cuLaunchHostFunc, s, nothing, NUL); }
static void value(void) { OK(cuStreamWriteValue32_v2, s, memory, 5, 0); }
static void allocate(void) {
    U inside;
    OK(cuMemAllocAsync, &inside, SIZE(1 << 20), s);
    OK(cuMemFreeAsync, inside, s);
}
static void none(void) {}

static P graph_of(void (*work)(void)) {
    P g;
    OK(cuStreamBeginCapture_v2, s, 0);
    work();
    OK(cuStreamEndCapture, s, &g);
    return g;
}

/* A kernel launches graphs of kernels, copies and sets, here and in graphs of these. */
static void launched_by_a_kernel(void) {
    struct { void (*work)(void); int code; unsigned result; } cases[] = {
        { kernel, 0, 0 }, { copy, 0, 0 }, { set, 0, 0 }, { none, 1, 1 },
        { host, 1, 3 }, { value, 1, 3 }, { allocate, 1, 3 },
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct { U flags; P stream, wrong; unsigned result; } how = { 4, NUL, NUL, 9 };
        P g = graph_of(cases[i].work), outer, node, first = NUL, x;
        size_t n = 1;
        OK(cuGraphGetNodes, g, &first, &n);
        IS(cases[i].code, cuGraphInstantiateWithParams, &x, g, &how);
        TRUE(how.result == cases[i].result && how.wrong == (how.result == 3 ? first : NUL));
        if (!cases[i].code) OK(cuGraphExecDestroy, x);
        IS(cases[i].code, cuGraphInstantiateWithFlags, &x, g, (U)4);
        if (!cases[i].code) OK(cuGraphExecDestroy, x);
        if (cases[i].work != allocate && cases[i].work != none) { /* in a child */
            OK(cuGraphCreate, &outer, 0);
            OK(cuGraphAddChildGraphNode, &node, outer, NUL, SIZE(0), g);
            IS(cases[i].code, cuGraphInstantiateWithParams, &x, outer, &how);
            TRUE(how.result == cases[i].result);
            OK(cuGraphDestroy, outer);
        }
        OK(cuGraphDestroy, g);
    }
}

static char text[9000];
static void print(P g, unsigned flags) {
    char path[] = "/tmp/captures-XXXXXX";
    int fd = mkstemp(path);
    OK(cuGraphDebugDotPrint, g, path, flags);
    int n = read(fd, text, sizeof text - 1);
    TRUE(n > 0);
    text[n] = 0;
    close(fd);
    unlink(path);
}

/* Numbers of graphs are not known before: %1$u is that of the graph, %2$u that of its child. */
static const char short_form[] = "digraph dot {\nsubgraph cluster_%1$u {\nlabel=\"graph_%1$u\" graph[style=\"dashed\"];\n"
    "\"graph_%1$u_node_0\"[style=\"bold\" shape=\"octagon\" label=\"0\nnamed\n\"];\n\n"
    "\"graph_%1$u_node_1\"[style=\"solid\" shape=\"trapezium\"label=\"1\nMEMCPY\n(DtoD,128)\n\"];\n\n"
    "\"graph_%1$u_node_2\"[style=\"solid\" shape=\"invtrapezium\"label=\"2\nMEMSET\n(5,100)\n\"];\n\n"
    "\"graph_%1$u_node_3\"[style=\"solid\" shape=\"rectangle\" label=\"3\nHOST\n\"];\n\n"
    "\"graph_%1$u_node_4\"[style=\"solid\" shape=\"rectangle\" label=\"4\ngraph_%2$u\n\"];\n\n"
    "\"graph_%1$u_node_0\" -> \"graph_%1$u_node_1\";\n\"graph_%1$u_node_1\" -> \"graph_%1$u_node_2\";\n"
    "\"graph_%1$u_node_2\" -> \"graph_%1$u_node_3\";\n}\n"
    "subgraph cluster_%2$u {\nlabel=\"graph_%2$u\" graph[style=\"dashed\"];\n"
    "\"graph_%2$u_node_0\"[style=\"bold\" shape=\"octagon\" label=\"0\nnamed\n\"];\n\n}\n}\n";

static void most(void) { kernel(), copy(), set(), host(); }

static void as_text(void) {
    P inner = graph_of(kernel), g = graph_of(most), node, child;
    unsigned id, child_id;
    char expected[9000];
    OK(cuGraphAddChildGraphNode, &node, g, NUL, SIZE(0), inner);
    OK(cuGraphChildGraphNodeGetGraph, node, &child);
    OK(cuGraphGetId, g, &id);
    OK(cuGraphGetId, child, &child_id);
    snprintf(expected, sizeof expected, short_form, id, child_id);
    print(g, 0);
    if (strcmp(text, expected)) fprintf(stderr, "%s", text);
    TRUE(!strcmp(text, expected));
    print(g, 4);
    TRUE(strstr(text, "label=\"0\nnamed\n\\<\\<\\<\\{2,3\\},4,16\\>\\>\\>\"];"));
    print(g, 8);
    TRUE(strstr(text, "MEMCPY\n| {{ID} | {1}}\n") && strstr(text, "(5,100)"));
    print(g, 1);
    TRUE(strstr(text, "{KERNEL\n| {ID | 0 (topoId: 4) | named\\<\\<\\<\\{2,3\\},4,16\\>\\>\\>}\n"));
    TRUE(strstr(text, "| {Extent | {WidthInBytes | Height | Depth} | {128 | 1 | 1}}"));
    TRUE(strstr(text, "label=\"3 (topoId: 1)\nHOST\nnode handle: 0x") && strstr(text, "4 (topoId: 0)"));
    TRUE(strstr(text, "\" [headlabel=0];\n"));
    OK(cuGraphDestroy, g);
    OK(cuGraphDestroy, inner);
}

int main(void) {
    P mod;
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    OK(cuStreamCreate, &s, 1);
    OK(cuStreamCreate, &t, 1);
    OK(cuMemAlloc_v2, &memory, SIZE(4096));
    OK(cuModuleLoadData, &mod, ptx);
    OK(cuModuleGetFunction, &fun, mod, "named");
    ended_elsewhere();
    events_from_outside();
    launched_by_a_kernel();
    as_text();
    puts("all is well");
    return 0;
}
