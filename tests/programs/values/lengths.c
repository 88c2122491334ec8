/* Lengths that stand in no parameter as they are: one or two less than a rank, as many as another call said; unions whose tag lies
 * inside; arrays inside a union. Each is to be read whole, and no element too far. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry one()\n{\n ret;\n}\n"
                          ".visible .entry two(.param .u32 n)\n{\n ret;\n}\n";

static void tensors(CUdeviceptr memory) {
    CUtensorMap map;
    cuuint64_t dim[3] = {64, 32, 16}, strides[3] = {256, 8192, 99};
    cuuint32_t box[3] = {16, 8, 4}, steps[3] = {1, 1, 1};
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, (void *)memory, dim, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    int lower[2] = {-1, 99}, upper[2] = {1, 99};
    CHECK(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, (void *)memory, dim, strides, lower, upper, 64, 8, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

/* Rows of a pitch under a texture: from the first byte to the last. */
static void texture(CUdeviceptr memory) {
    CUtexObject object;
    CUDA_RESOURCE_DESC rows = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    CUDA_TEXTURE_DESC how = {0};
    rows.res.pitch2D.devPtr = memory + 4096;
    rows.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    rows.res.pitch2D.numChannels = 2;
    rows.res.pitch2D.width = 30;
    rows.res.pitch2D.height = 5;
    rows.res.pitch2D.pitchInBytes = 512;
    cuTexObjectCreate(&object, &rows, &how, 0);
    cuuint64_t dim[1] = {10}, strides[1] = {0};
    cuuint32_t box[1] = {8}, steps[1] = {1};
    CUtensorMap map;
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 1, (void *)memory, dim, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

static CUkernel kernels(void) {
    CUlibrary library;
    CUkernel all[8], two;
    unsigned count;
    CHECK(cuLibraryLoadData(&library, ptx, 0, 0, 0, 0, 0, 0));
    CHECK(cuLibraryGetKernelCount(&count, library));
    CHECK(cuLibraryEnumerateKernels(all, 8, library));
    CHECK(cuLibraryGetKernel(&two, library, "two"));
    return two;
}

static void operations(CUstream stream, CUdeviceptr memory) {
    CUstreamBatchMemOpParams all[3] = {0};
    all[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    all[0].writeValue.address = memory;
    all[0].writeValue.value = 7;
    all[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
    all[1].waitValue.address = memory;
    all[1].waitValue.value64 = 7;
    all[1].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    all[2].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    cuStreamBatchMemOp(stream, 3, all, 0);
    CUstreamAttrValue priority = {.priority = 2}, policy = {.syncPolicy = CU_SYNC_POLICY_SPIN}, window = {0};
    window.accessPolicyWindow.base_ptr = (void *)memory;
    window.accessPolicyWindow.num_bytes = 4096;
    cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_PRIORITY, &priority);
    cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &policy);
    cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window);
}

static void nodes(CUgraph graph, CUkernel kernel, CUcontext context) {
    CUgraphNode node;
    unsigned n = 5;
    void *values[] = {&n};
    CUgraphNodeParams run = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    run.kernel.kern = kernel;
    run.kernel.gridDimX = run.kernel.gridDimY = run.kernel.gridDimZ = 1;
    run.kernel.blockDimX = run.kernel.blockDimY = run.kernel.blockDimZ = 1;
    run.kernel.kernelParams = values;
    cuGraphAddNode(&node, graph, 0, 0, 0, &run);
    CUmemAccessDesc access[2] = {{{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    access[1] = access[0];
    CUgraphNodeParams alloc = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    alloc.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    alloc.alloc.poolProps.location = access[0].location;
    alloc.alloc.bytesize = 4096;
    alloc.alloc.accessDescs = access;
    alloc.alloc.accessDescCount = 2;
    cuGraphAddNode(&node, graph, 0, 0, 0, &alloc);
    CUgraphConditionalHandle handle;
    if (cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT)) return;
    CUgraphNodeParams condition = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    condition.conditional.handle = handle;
    condition.conditional.type = CU_GRAPH_COND_TYPE_IF;
    condition.conditional.size = 1;
    condition.conditional.ctx = context;
    cuGraphAddNode(&node, graph, 0, 0, 0, &condition);
}

static void capture(CUstream stream, CUdeviceptr memory) {
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    CUgraph graph = 0;
    const CUgraphNode *last = 0;
    const CUgraphEdgeData *edges = 0;
    size_t n = 0;
    CHECK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &last, &edges, &n));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) || cuMemsetD8Async(memory, 1, 64, stream));
    CHECK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &last, &edges, &n) || cuStreamEndCapture(stream, &graph));
}

int main(void) {
    CUcontext context, other;
    CUstream stream;
    CUdeviceptr memory;
    CUgraph graph;
    const char *name;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, 0) || cuMemAlloc(&memory, 1 << 20) || cuGraphCreate(&graph, 0));
    CHECK(cuGetErrorName(CUDA_ERROR_NOT_READY, &name));
    tensors(memory);
    texture(memory);
    CUkernel two = kernels();
    operations(stream, memory);
    nodes(graph, two, context);
    capture(stream, memory);
    CUipcMemHandle shared;
    cuIpcGetMemHandle(&shared, memory);
    CUarrayMapInfo map = {.resourceType = CU_RESOURCE_TYPE_ARRAY, .subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL};
    map.subresource.miptail.size = 65536;
    map.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    cuMemMapArrayAsync(&map, 1, stream);
    CUexecAffinityParam affinity = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT, .param.smCount.val = 4};
    CUctxCreateParams how = {.execAffinityParams = &affinity, .numExecAffinityParams = 1};
    cuCtxCreate(&other, &how, 0, 0);
    puts("done");
    return 0;
}
