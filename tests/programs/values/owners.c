/* What ends with its owner: functions, kernels and variables of a module or library, nodes of a graph, all of a context. Each such
 * call fails, and the trace must say why. What has another owner stays. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 count;\n"
                          ".visible .entry one()\n{\n ret;\n}\n";

static void modules(void) {
    CUmodule module, other;
    CUfunction one, two;
    CUdeviceptr count;
    size_t bytes;
    int value;
    CHECK(cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&one, module, "one") || cuModuleLoadData(&other, ptx));
    CHECK(cuModuleGetFunction(&two, other, "one") || cuModuleGetGlobal(&count, &bytes, module, "count") || cuMemsetD8(count, 1, 4));
    CHECK(cuModuleUnload(module));
    cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, one);
    cuMemsetD8(count, 1, 4);
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, two));
}

static void libraries(void) {
    CUlibrary library;
    CUkernel one;
    CUfunction function;
    int value;
    CHECK(cuLibraryLoadData(&library, ptx, 0, 0, 0, 0, 0, 0) || cuLibraryGetKernel(&one, library, "one") || cuKernelGetFunction(&function, one));
    CHECK(cuLibraryUnload(library));
    cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, one, 0);
    cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
}

static void graphs(void) {
    CUgraph graph, kept, inside;
    CUgraphNode first, second, child, other;
    CUgraphNodeType type;
    CHECK(cuGraphCreate(&graph, 0) || cuGraphCreate(&kept, 0) || cuGraphAddEmptyNode(&other, kept, 0, 0));
    CHECK(cuGraphAddEmptyNode(&first, graph, 0, 0) || cuGraphAddEmptyNode(&second, graph, &first, 1));
    CHECK(cuGraphAddChildGraphNode(&child, graph, 0, 0, kept) || cuGraphChildGraphNodeGetGraph(child, &inside));
    CHECK(cuGraphDestroy(graph));
    cuGraphNodeGetType(first, &type);
    cuGraphNodeGetType(second, &type);
    cuGraphAddEmptyNode(&first, inside, 0, 0);
    CHECK(cuGraphNodeGetType(other, &type) || cuGraphDestroy(kept));
}

static void contexts(CUcontext primary) {
    CUcontext context;
    CUstream stream, mine;
    CUevent event;
    CUmodule module;
    CUfunction one;
    CUdeviceptr memory, kept;
    void *host;
    CHECK(cuMemAlloc(&kept, 4096) || cuStreamCreate(&mine, 0));
    CHECK(cuCtxCreate(&context, 0, 0, 0) || cuStreamCreate(&stream, 0) || cuEventCreate(&event, 0) || cuMemAlloc(&memory, 8192));
    CHECK(cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&one, module, "one") || cuMemHostAlloc(&host, 4096, 0));
    CHECK(cuCtxDestroy(context) || cuCtxSetCurrent(primary));
    cuStreamSynchronize(stream);
    cuEventSynchronize(event);
    cuModuleUnload(module);
    cuMemFree(memory);
    cuMemFreeHost(host);
    CHECK(cuStreamSynchronize(mine) || cuMemsetD8(kept, 0, 4096));
    CHECK(cuDevicePrimaryCtxReset(0));
    cuStreamSynchronize(mine);
    cuMemFree(kept);
}

/* A primary context ends when it was released as often as it was retained, with what was made in it. */
static void released(void) {
    CUcontext primary;
    CUdeviceptr memory;
    CUevent event;
    CHECK(cuDevicePrimaryCtxRetain(&primary, 0) || cuMemAlloc(&memory, 16384) || cuEventCreate(&event, 0));
    CHECK(cuDevicePrimaryCtxRelease(0) || cuMemsetD8(memory, 0, 16384) || cuEventQuery(event));
    CHECK(cuDevicePrimaryCtxRelease(0));
    cuEventQuery(event);
    cuMemFree(memory);
}

int main(void) {
    CUcontext primary;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&primary, 0) || cuCtxSetCurrent(primary));
    modules();
    libraries();
    graphs();
    released();
    CHECK(cuDevicePrimaryCtxRetain(&primary, 0) || cuCtxSetCurrent(primary));
    contexts(primary);
    puts("done");
    return 0;
}
