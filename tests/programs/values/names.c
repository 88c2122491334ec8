/* Values that have names: flags in structs and parameters, several names for one value, bits that must be 0; results of what no
 * header declares; unions by their tag, or by the handle itself; what stands for memory in another process. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static void arrays(void) {
    CUDA_ARRAY3D_DESCRIPTOR layered = {.Width = 16, .Height = 16, .Depth = 2, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1,
        .Flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST};
    CUarray array;
    CHECK(cuArray3DCreate(&array, &layered));
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC texture = {.flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES};
    CUtexObject object;
    CHECK(cuTexObjectCreate(&object, &resource, &texture, 0) || cuTexObjectDestroy(object));
}

static void graphs(CUstream stream) {
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuGraphCreate(&graph, 0));
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
        .hUploadStream = stream};
    CHECK(cuGraphInstantiateWithParams(&exec, graph, &how));
}

/* The answer does not matter, nor that there is one. */
static void undeclared(void) {
    int (*start)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "cuEGLApiInit");
    if (start) start(0);
}

static void unions(CUgraph graph, CUcontext context) {
    CUgraphNode node;
    CUgraphNodeParams host = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.fn = (CUhostFn)unions, .syncMode = CU_HOST_TASK_SPINWAIT}};
    cuGraphAddNode(&node, graph, 0, 0, 0, &host);
    host.host.ctx = context;
    cuGraphAddNode(&node, graph, 0, 0, 0, &host);
    CUlogicalEndpointProp endpoint = {.type = CU_LOGICAL_ENDPOINT_TYPE_MULTICAST, .multicast = {.numDevices = 3}, .size = 4096};
    CUlogicalEndpointId id = 0;
    cuLogicalEndpointCreate(id, &endpoint);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC windows = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32,
        .handle.win32 = {.handle = (void *)0x1234}, .flags = CUDA_EXTERNAL_MEMORY_DEDICATED};
    CUexternalMemory memory;
    cuImportExternalMemory(&memory, &windows);
}

static void shared(void) {
    CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    CUmemGenericAllocationHandle made, again;
    int file;
    CHECK(cuMemCreate(&made, 2 << 20, &how, 0));
    CHECK(cuMemExportToShareableHandle(&file, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemImportFromShareableHandle(&again, (void *)(long)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUmemFabricHandle fabric = {{1, 2, 3}};
    cuMemImportFromShareableHandle(&again, &fabric, CU_MEM_HANDLE_TYPE_FABRIC);
}

int main(void) {
    CUcontext context;
    CUstream stream;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    int value;
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    arrays();
    graphs(stream);
    CUmulticastObjectProp many = {.numDevices = 2, .size = 2 << 20, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    CUmemGenericAllocationHandle handle;
    cuMulticastCreate(&handle, &many);
    char luid[8];
    unsigned mask;
    cuDeviceGetLuid(luid, &mask, 0);
    undeclared();
    CUgraph graph;
    CHECK(cuGraphCreate(&graph, 0));
    unions(graph, context);
    shared();
    puts("done");
    return 0;
}
