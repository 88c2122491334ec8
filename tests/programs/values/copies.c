/* Copies that a struct describes: how many bytes are meant on each side, from the address to the last one, and how many of them lie
 * behind the allocation's end; memset nodes likewise; an attachment of a whole allocation. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static char host[1 << 16];

static void planes(CUdeviceptr device, CUstream stream) {
    CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 256,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device, .dstPitch = 512, .WidthInBytes = 100, .Height = 4};
    CHECK(cuMemcpy2D(&flat));
    flat.dstXInBytes = 16;
    flat.dstY = 2;
    CHECK(cuMemcpy2DAsync(&flat, stream));
    flat.dstY = 0;
    flat.dstDevice = device + 65536 - 1024;
    cuMemcpy2DUnaligned(&flat);
}

static void boxes(CUdeviceptr device, CUcontext context, CUstream stream) {
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device, .srcPitch = 128, .srcHeight = 8, .srcZ = 1,
        .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = host, .dstPitch = 64, .dstHeight = 4,
        .WidthInBytes = 64, .Height = 4, .Depth = 3};
    CHECK(cuMemcpy3D(&box) || cuMemcpy3DAsync(&box, stream));
    CUDA_MEMCPY3D_PEER peer = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device, .srcPitch = 64, .srcHeight = 4,
        .srcContext = context, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device + 32768, .dstPitch = 64, .dstHeight = 4,
        .dstContext = context, .WidthInBytes = 64, .Height = 4, .Depth = 2};
    cuMemcpy3DPeer(&peer);
    CUDA_MEMCPY3D_BATCH_OP many = {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = device, .rowLength = 128}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = device + 65536 - 256}},
        .extent = {64, 4, 1}, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    cuMemcpy3DBatchAsync(1, &many, 0, stream);
}

static void nodes(CUdeviceptr device, CUcontext context) {
    CUgraph graph;
    CUgraphNode node;
    CHECK(cuGraphCreate(&graph, 0));
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = device, .pitch = 1024, .value = 1, .elementSize = 4, .width = 16, .height = 8};
    CHECK(cuGraphAddMemsetNode(&node, graph, 0, 0, &fill, context));
    fill.width = 16384;
    fill.height = 2;
    fill.pitch = 65536;
    cuGraphAddMemsetNode(&node, graph, 0, 0, &fill, context);
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device,
        .WidthInBytes = 4096, .Height = 1, .Depth = 1};
    CHECK(cuGraphAddMemcpyNode(&node, graph, 0, 0, &box, context));
    CHECK(cuGraphMemcpyNodeGetParams(node, &box));
}

int main(void) {
    CUcontext context;
    CUstream stream;
    CUdeviceptr device, managed;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuStreamCreate(&stream, 0));
    CHECK(cuMemAlloc(&device, 65536) || cuMemAllocManaged(&managed, 8192, CU_MEM_ATTACH_HOST));
    planes(device, stream);
    boxes(device, context, stream);
    nodes(device, context);
    CHECK(cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamAttachMemAsync(stream, managed, 8192, CU_MEM_ATTACH_GLOBAL));
    puts("done");
    return 0;
}
