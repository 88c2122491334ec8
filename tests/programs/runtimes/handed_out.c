/* Makes things, has the driver and the runtime hand them out again, and prints what it leaves: each kind, and who made it. What goes wrong:
 * a call that only hands out is said to have made it, what ended with its owner is left, the struct around an address counts as memory. */
#include "cudart.h"
#include <dlfcn.h>
static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry plain(.param .u64 p)\n{ ret; }\n";
#include "fatbin.h"

typedef struct { unsigned width[4]; int kind; } Channels;
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *, struct cudaExtent);
cudaError_t cudaMalloc3DArray(void **, const Channels *, struct cudaExtent, unsigned);
cudaError_t cudaMallocArray(void **, const Channels *, size_t, size_t, unsigned);
cudaError_t cudaFreeArray(void *);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
static void plain(void) {}

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *memory, *array, *context, *primary, *graph, *same, *reference, *nothing = NULL;
#define FIND(name) int (*name)() = (int (*)())dlsym(driver, #name)
    FIND(cuCtxCreate_v2); FIND(cuCtxPushCurrent_v2); FIND(cuCtxPopCurrent_v2); FIND(cuCtxGetCurrent); FIND(cuGraphCreate); FIND(cuGraphDestroy);
    FIND(cuStreamBeginCaptureToGraph); FIND(cuStreamEndCapture); FIND(cuMemCreate); FIND(cuMemRelease); FIND(cuMemRetainAllocationHandle);
    FIND(cuMemAddressReserve); FIND(cuMemAddressFree); FIND(cuMemMap); FIND(cuMemUnmap);
    struct cudaPitchedPtr planes;
    struct cudaExtent extent = { 100, 3, 2 };
    Channels channels = { { 32, 0, 0, 0 }, 2 };
    cudaStream_t stream, popped;
    size_t pitch, bytes;
    void *arguments[] = { &nothing }, **code = __cudaRegisterFatBinary(fat_binary(52));
    __cudaRegisterFunction(code, (char *)plain, "plain", "plain", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(code);

    /* As nvcc makes it of <<<>>>; some runtimes push and pop the context at the first launch. */
    dim3 one = { 1, 1, 1 }, grid, block;
    OK(cudaStreamCreate(&stream)); /* left */
    TRUE(!__cudaPushCallConfiguration(one, one, 0, stream) && !__cudaPopCallConfiguration(&grid, &block, &bytes, &popped));
    OK(cudaLaunchKernel((void *)plain, grid, block, arguments, 0, popped));

    for (int n = 0; n < 2; n++) OK(cudaMalloc3D(&planes, extent)); /* the first is left */
    OK(cudaFree(planes.ptr));
    OK(cudaMallocPitch(&memory, &pitch, 100, 3));
    OK(cudaFree(memory));
    OK(cudaMalloc(&memory, 0));
    OK(cudaMallocHost(&memory, 0));
    for (int n = 0; n < 3; n++) OK(cudaMallocArray(&array, &channels, 64, 32, 0)); /* the first two are left */
    OK(cudaFreeArray(array));
    OK(cudaMalloc3DArray(&array, &channels, extent, 0));
    OK(cudaFreeArray(array));

    OK(cuCtxGetCurrent(&primary));
    OK(cuCtxPushCurrent_v2(primary) || cuCtxPopCurrent_v2(&context));
    OK(cuCtxCreate_v2(&context, 0, 0) || cuCtxPopCurrent_v2(&context)); /* left */
    OK(cuGraphCreate(&graph, 0) || cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0l, 0) || cuStreamEndCapture(stream, &same));
    OK(cuGraphDestroy(graph));
    int like[8] = { 1, 0, 1 }; /* pinned, on a device */
    OK(cuMemCreate(&reference, 2l << 20, like, 0l) || cuMemAddressReserve(&memory, 2l << 20, 0l, NULL, 0l)); /* left: a reference of two */
    OK(cuMemMap(memory, 2l << 20, 0l, reference, 0l) || cuMemRetainAllocationHandle(&same, memory) || cuMemRelease(same));
    OK(cuMemUnmap(memory, 2l << 20) || cuMemAddressFree(memory, 2l << 20));
    puts("allocation cuMemCreate 1\narray cudaMallocArray 2\ncontext cuCtxCreate_v2 1\ndevice memory cudaMalloc3D 1\nstream cudaStreamCreate 1");
    return 0;
}
