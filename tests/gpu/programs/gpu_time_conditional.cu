// Graphs for the question where the index rule of docs/explanation/gpu-time.md ends: each case is a graph whose kernels
// have the names k0 to k5. A line says which executable graph is which case, and the kernels that a replay runs.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

__global__ void k0() {}

__global__ void k1() {}

__global__ void k2() {}

__global__ void k3() {}

__global__ void k4() {}

__global__ void k5() {}

static void *const kernels[] = {(void *)k0, (void *)k1, (void *)k2, (void *)k3, (void *)k4, (void *)k5};
static cudaStream_t stream;
static int executables;
static bool has_failed;

static bool ok(cudaError_t code, const char *what)
{
    if (code != cudaSuccess)
        std::printf("%s: %s\n", what, cudaGetErrorName(code));
    has_failed |= code != cudaSuccess;
    return code == cudaSuccess;
}
#define OK(call) ok(call, #call)

static cudaGraphNode_t add(cudaGraph_t graph, int kernel, cudaGraphNode_t after = nullptr)
{
    cudaKernelNodeParams parameters = {};
    parameters.func = kernels[kernel];
    parameters.gridDim = parameters.blockDim = dim3(1);
    void *none[] = {nullptr};
    parameters.kernelParams = none;
    cudaGraphNode_t node = nullptr;
    OK(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &parameters));
    return node;
}

static std::vector<cudaGraphNode_t> add_all(cudaGraph_t graph)
{
    std::vector<cudaGraphNode_t> nodes;
    for (int kernel = 0; kernel < 6; kernel++)
        nodes.push_back(add(graph, kernel, nodes.empty() ? nullptr : nodes.back()));
    return nodes;
}

static cudaGraph_t created()
{
    cudaGraph_t graph = nullptr;
    OK(cudaGraphCreate(&graph, 0));
    return graph;
}

static void replay(cudaGraphExec_t executable, int times = 3)
{
    for (int n = 0; n < times; n++)
        OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
}

static cudaGraphExec_t run(const char *what, cudaGraph_t graph, const char *expected)
{
    cudaGraphExec_t executable = nullptr;
    if (!OK(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0)))
        return nullptr;
    std::printf("executable %d: %s; a replay runs %s\n", ++executables, what, expected);
    replay(executable);
    return executable;
}

static cudaGraph_t captured()
{
    cudaGraph_t graph = nullptr;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    k0<<<1, 1, 0, stream>>>();
    k1<<<1, 1, 0, stream>>>();
    k2<<<1, 1, 0, stream>>>();
    k3<<<1, 1, 0, stream>>>();
    OK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void destroyed()
{
    cudaGraph_t graph = created();
    OK(cudaGraphDestroyNode(add_all(graph)[2]));
    run("k2 destroyed", graph, "k0 k1 k3 k4 k5");

    graph = created();
    std::vector<cudaGraphNode_t> nodes = add_all(graph);
    OK(cudaGraphDestroyNode(nodes[1]));
    add(graph, 1, nodes[5]);
    run("k1 destroyed, then added again", graph, "k0 k2 k3 k4 k5 k1");

    graph = captured();
    cudaGraphNode_t made[8];
    size_t count = 8;
    OK(cudaGraphGetNodes(graph, made, &count));
    OK(cudaGraphDestroyNode(made[1]));
    run("captured k0 to k3, the second of cudaGraphGetNodes destroyed", graph, "the other three");
    cudaGraph_t clone = nullptr;
    OK(cudaGraphClone(&clone, graph));
    run("a clone of that", clone, "the same three");
}

static void updated()
{
    cudaGraph_t first = created(), second = created();
    add(first, 1, add(first, 0));
    cudaGraphExec_t executable = run("k0 k1, later updated to k4 k5", first, "k0 k1, then k4 k5");
    add(second, 5, add(second, 4));
    cudaGraphExecUpdateResultInfo why = {};
    if (executable && OK(cudaGraphExecUpdate(executable, second, &why)))
        replay(executable);
}

static void nested()
{
    cudaGraph_t child = created(), middle = created(), parent = created();
    cudaGraphNode_t node = nullptr;
    add(child, 2, add(child, 1));
    cudaGraphNode_t before = add(middle, 0);
    OK(cudaGraphAddChildGraphNode(&node, middle, &before, 1, child));
    add(middle, 3, node);
    before = add(parent, 4);
    OK(cudaGraphAddChildGraphNode(&node, parent, &before, 1, middle));
    add(parent, 5, node);
    run("a child graph in a child graph", parent, "k4 k0 k1 k2 k3 k5");
}

#if CUDART_VERSION >= 12040
__global__ void set_condition(cudaGraphConditionalHandle handle, unsigned *counter)
{
    cudaGraphSetConditional(handle, --*counter > 0);
}

static void conditional(cudaGraphConditionalNodeType type, unsigned rounds, const char *what, const char *expected)
{
    cudaGraph_t graph = created();
    unsigned *counter = nullptr;
    OK(cudaMalloc(&counter, sizeof *counter));
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNode_t before = add(graph, 0), choice = nullptr;
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = handle;
    parameters.conditional.type = type;
    parameters.conditional.size = 1;
#if CUDART_VERSION >= 13000
    if (!OK(cudaGraphAddNode(&choice, graph, &before, nullptr, 1, &parameters)))
#else
    if (!OK(cudaGraphAddNode(&choice, graph, &before, 1, &parameters)))
#endif
        return;
    cudaGraph_t body = parameters.conditional.phGraph_out[0];
    cudaGraphNode_t last = add(body, 2, add(body, 1));
    if (type == cudaGraphCondTypeWhile) {
        cudaKernelNodeParams condition = {};
        void *values[] = {&handle, &counter};
        condition.func = (void *)set_condition;
        condition.gridDim = condition.blockDim = dim3(1);
        condition.kernelParams = values;
        cudaGraphNode_t node = nullptr;
        OK(cudaGraphAddKernelNode(&node, body, &last, 1, &condition));
    }
    add(graph, 3, choice);
    cudaGraphExec_t executable = nullptr;
    if (!OK(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0)))
        return;
    std::printf("executable %d: %s; a replay runs %s\n", ++executables, what, expected);
    for (int n = 0; n < 3; n++) {
        OK(cudaMemcpyAsync(counter, &rounds, sizeof rounds, cudaMemcpyHostToDevice, stream));
        replay(executable, 1);
    }
}
#endif

int main()
{
    OK(cudaStreamCreate(&stream));
    cudaGraph_t chain = created();
    add_all(chain);
    run("a chain", chain, "k0 k1 k2 k3 k4 k5");
    destroyed();
    updated();
    nested();
#if CUDART_VERSION >= 12040
    conditional(cudaGraphCondTypeIf, 1, "a condition, true", "k0 (k1 k2) k3");
    conditional(cudaGraphCondTypeWhile, 3, "a loop of three rounds", "k0 (k1 k2 set_condition) three times, k3");
#endif
    std::printf("%s\n", has_failed ? "something failed" : "done");
    return 0;
}
