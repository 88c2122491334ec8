/* The same with the runtime's structs, whose addresses lie in structs of their own, and with its calls for rows. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static char host[1 << 16];

int main(void) {
    struct cudaPitchedPtr there;
    struct cudaExtent extent = {64, 4, 3};
    cudaArray_t array;
    struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream) || cudaMalloc3D(&there, extent) || cudaMallocArray(&array, &format, 16, 4, 0));
    struct cudaMemcpy3DParms box = {.srcPtr = {host, 64, 64, 4}, .dstPtr = there, .extent = extent, .kind = cudaMemcpyHostToDevice};
    CHECK(cudaMemcpy3D(&box));
    box.dstPos.z = 1;
    box.dstPos.y = 1;
    cudaMemcpy3DAsync(&box, stream);
    struct cudaMemcpy3DPeerParms peer = {.srcPtr = there, .dstPtr = there, .extent = extent};
    cudaMemcpy3DPeer(&peer);
    CHECK(cudaMemset3D(there, 0, extent));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, host, 256, 64, 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DFromArray(host, 128, array, 0, 0, 64, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2D(there.ptr, there.pitch, host, 64, 64, 4, cudaMemcpyHostToDevice));
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&graph, 0));
    struct cudaMemsetParams fill = {.dst = there.ptr, .pitch = there.pitch, .elementSize = 4, .width = 16, .height = 4};
    CHECK(cudaGraphAddMemsetNode(&node, graph, 0, 0, &fill));
    box.dstPos.z = box.dstPos.y = 0;
    CHECK(cudaGraphAddMemcpyNode(&node, graph, 0, 0, &box));
    puts("done");
    return 0;
}
