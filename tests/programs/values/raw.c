/* What can only be shown as it came: launches of what is no kernel any more, or never was, and of which nobody can tell the
 * parameters; with a call that never returns. A trace must say so of each, and of nothing else. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry one(.param .u32 n)\n{\n ret;\n}\n";

static void leave(void *nothing) {
    (void)nothing;
    puts("done");
    fflush(stdout);
    _exit(0);
}

int main(void) {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;
    unsigned n = 5;
    void *values[] = {&n};
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuMemAlloc(&memory, 4096));
    CHECK(cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&function, module, "one"));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, values, 0));
    /* Refused, but its parameters are known. */
    cuLaunchKernel(function, 1, 1, 1, 1 << 20, 1, 1, 0, 0, values, 0);
    CHECK(cuModuleUnload(module));
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, values, 0);
    cuLaunchKernel((CUfunction)values, 1, 1, 1, 1, 1, 1, 0, 0, values, 0);
    CUgraph graph;
    CUgraphNode node;
    CHECK(cuGraphCreate(&graph, 0));
    /* New memory in a struct: its address is all that there is to say. */
    CUDA_MEM_ALLOC_NODE_PARAMS new = {.bytesize = 8192};
    new.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    new.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(cuGraphAddMemAllocNode(&node, graph, 0, 0, &new));
    CUgraphNodeParams more = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    more.alloc.poolProps = new.poolProps;
    more.alloc.bytesize = 100;
    CHECK(cuGraphAddNode(&node, graph, 0, 0, 0, &more));
    CUgraphNodeParams run = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    run.kernel.func = function;
    run.kernel.gridDimX = run.kernel.gridDimY = run.kernel.gridDimZ = 1;
    run.kernel.blockDimX = run.kernel.blockDimY = run.kernel.blockDimZ = 1;
    run.kernel.kernelParams = values;
    cuGraphAddNode(&node, graph, 0, 0, 0, &run);
    /* What a refused call would have written is nothing that could be shown otherwise. */
    cuMemAlloc(&memory, 0);
    cuLaunchHostFunc(0, leave, 0);
    pause();
}
