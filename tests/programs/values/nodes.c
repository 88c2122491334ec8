/* Nodes of a graph by the functions that take all kinds: the parameters of a kernel, of a copy and of a fill are to be read in the
 * runtime's own structs as in the driver's, where they are given and where they are asked for. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry fill(.param .u32 n, .param .u64 to)\n{\n ret;\n}\n";

int main(void) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaGraph_t graph;
    cudaGraphNode_t node, other;
    cudaGraphExec_t exec;
    void *memory;
    static char host[64];
    CHECK(cudaMalloc(&memory, 1 << 20));
    CHECK(cudaLibraryLoadData(&library, ptx, 0, 0, 0, 0, 0, 0) || cudaLibraryGetKernel(&kernel, library, "fill"));
    CHECK(cudaGraphCreate(&graph, 0));
    unsigned n = 7;
    void *values[] = {&n, &memory};
    struct cudaGraphNodeParams run = {.type = cudaGraphNodeTypeKernel};
    run.kernel.func = (void *)kernel;
    run.kernel.gridDim = run.kernel.blockDim = (struct dim3){1, 1, 1};
    run.kernel.kernelParams = values;
    CHECK(cudaGraphAddNode(&node, graph, 0, 0, 0, &run));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    n = 8;
    CHECK(cudaGraphExecNodeSetParams(exec, node, &run));
    n = 9;
    CHECK(cudaGraphNodeSetParams(node, &run));
    struct cudaGraphNodeParams asked = {0};
    CHECK(cudaGraphNodeGetParams(node, &asked));
    struct cudaGraphNodeParams copy = {.type = cudaGraphNodeTypeMemcpy};
    copy.memcpy.copyParams.srcPtr = (struct cudaPitchedPtr){host, 64, 64, 1};
    copy.memcpy.copyParams.dstPtr = (struct cudaPitchedPtr){memory, 64, 64, 1};
    copy.memcpy.copyParams.extent = (struct cudaExtent){64, 1, 1};
    copy.memcpy.copyParams.kind = cudaMemcpyHostToDevice;
    CHECK(cudaGraphAddNode(&other, graph, &node, 0, 1, &copy));
    struct cudaGraphNodeParams fill = {.type = cudaGraphNodeTypeMemset};
    fill.memset.dst = memory;
    fill.memset.value = 3;
    fill.memset.elementSize = 4;
    fill.memset.width = 16;
    fill.memset.height = 1;
    CHECK(cudaGraphAddNode(&other, graph, &node, 0, 1, &fill));
    puts("done");
    return 0;
}
