/* Numbers that have names: enums in a byte, a comparison among flags, attributes whose value is an enum, devices that are none,
 * ports of edges; and numbers beside them that have none. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry one()\n{\n ret;\n}\n";

static void kernels(CUstream stream) {
    CUmodule module;
    CUfunction one;
    int value;
    CHECK(cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&one, module, "one"));
    cuFuncSetAttribute(one, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_SHAREDMEM_CARVEOUT_DEFAULT);
    cuFuncSetAttribute(one, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
    cuFuncSetAttribute(one, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    cuFuncSetAttribute(one, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024);
    cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, one);
    CUlaunchAttribute how[2] = {
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
            .value = {.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING}},
        {.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, .value = {.sharedMemCarveout = (unsigned)CU_SHAREDMEM_CARVEOUT_DEFAULT}}};
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, how, 2};
    cuLaunchKernelEx(&config, one, 0, 0);
    int blocks;
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, one, 32, 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    CUgraph graph;
    CUgraphNode nodes[2];
    CUDA_KERNEL_NODE_PARAMS run = {.func = one, 1, 1, 1, 1, 1, 1};
    CHECK(cuGraphCreate(&graph, 0) || cuGraphAddKernelNode(&nodes[0], graph, 0, 0, &run) || cuGraphAddKernelNode(&nodes[1], graph, 0, 0, &run));
    CUgraphEdgeData edge = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    cuGraphAddDependencies(graph, &nodes[0], &nodes[1], &edge, 1);
}

static void places(CUstream stream) {
    CUdeviceptr managed;
    CHECK(cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL));
    CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, {0}}, none = {CU_MEM_LOCATION_TYPE_DEVICE, {CU_DEVICE_INVALID}};
    cuMemPrefetchAsync(managed, 1 << 20, host, 0, stream);
    cuMemPrefetchAsync(managed, 1 << 20, none, 0, stream);
    cuMemAdvise(managed, 1 << 20, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, {CU_DEVICE_CPU}});
    int where;
    cuMemRangeGetAttribute(&where, sizeof where, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, managed, 1 << 20);
    cuStreamWaitValue32(CU_STREAM_PER_THREAD, managed, 7, CU_STREAM_WAIT_VALUE_GEQ | CU_STREAM_WAIT_VALUE_FLUSH);
    cuStreamWaitValue32(CU_STREAM_LEGACY, managed, 7, CU_STREAM_WAIT_VALUE_NOR);
}

static void allocations(void) {
    CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}},
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC,
        .allocFlags = {.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC, .usage = CU_MEM_CREATE_USAGE_TILE_POOL}};
    CUmemGenericAllocationHandle made;
    int file;
    cuMemCreate(&made, 2 << 20, &how, 0);
    how.requestedHandleTypes = (CUmemAllocationHandleType)-1;
    cuMemCreate(&made, 2 << 20, &how, 0);
    cuMemExportToShareableHandle(&file, made, (CUmemAllocationHandleType)-1, 0);
    cuMemExportToShareableHandle(&file, made, (CUmemAllocationHandleType)3, 0);
}

/* Texts, and numbers of which all bits are set. */
static void marks(void) {
    const char *text;
    CUmemoryPool pool;
    cuuint64_t all = ~0ull;
    CHECK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text) || cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    cuGetErrorString((CUresult)12345, &text);
    CHECK(cuDeviceGetDefaultMemPool(&pool, 0) || cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
}

int main(void) {
    CUcontext context;
    CUstream stream;
    int value;
    CHECK(cuInit(0) || cuDevicePrimaryCtxSetFlags(0, CU_CTX_MAP_HOST));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuStreamCreate(&stream, 0));
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0));
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    kernels(stream);
    places(stream);
    allocations();
    marks();
    puts("done");
    return 0;
}
