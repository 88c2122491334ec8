/* What a call writes because it failed, and what it leaves as it was where it succeeds. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

typedef CUresult batch(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, size_t *, CUstream);

int main(void) {
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory, two;
    CUgraph graph, other;
    CUgraphExec exec;
    CUgraphNode node;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuStreamCreate(&stream, 0));
    CHECK(cuMemAlloc(&memory, 4096) || cuMemAlloc(&two, 4096));
    CHECK(cuGraphCreate(&graph, 0) || cuGraphCreate(&other, 0));
    CHECK(cuGraphAddEmptyNode(&node, graph, 0, 0) || cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphAddEmptyNode(&node, other, 0, 0) || cuGraphAddEmptyNode(&node, other, &node, 1));
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED};
    cuGraphExecUpdate(exec, other, &info);
    CHECK(cuGraphExecUpdate(exec, graph, &info));
    /* What the caller has filled in is known, though nothing came of it. */
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = 1ull << 40, .hUploadStream = stream};
    cuGraphInstantiateWithParams(&exec, graph, &how);
    /* That of 12.8, which this header has no more. */
    void *found;
    CHECK(cuGetProcAddress("cuMemcpyBatchAsync", &found, 12080, 0, 0));
    CUmemcpyAttributes attributes[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
    size_t bytes = 64, first[2] = {0}, failed = 77;
    CHECK(((batch *)found)(&memory, &two, &bytes, 1, attributes, first, 1, &failed, stream));
    /* More attributes than copies. */
    ((batch *)found)(&memory, &two, &bytes, 1, attributes, first, 2, &failed, stream);
    puts("done");
    return 0;
}
