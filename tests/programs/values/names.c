/* Values that have names: flags in structs and parameters, several names for one value, bits that must be 0. */
#include <cuda.h>
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
    puts("done");
    return 0;
}
