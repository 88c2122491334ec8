/* Memory of all kinds, before and after its end, and calls that go beyond it: rows of a pitch, managed and page-locked memory, mapped
 * addresses, memory of a graph, an address of the host where a device's is expected. A kernel's parameter that is larger than a record
 * stands before others. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry large(.param .align 8 .b8 table[4000], .param .u64 to, .param .u32 n)\n{\n ret;\n}\n";
static char heap[64];

static void lengths(void) {
    CUdeviceptr memory;
    size_t pitch;
    CHECK(cuMemAllocPitch(&memory, &pitch, 100, 10, 4));
    CHECK(cuMemsetD8(memory + 9 * pitch, 1, 100));
    CHECK(cuMemsetD2D32(memory, pitch, 1, 25, 10));
    CHECK(cuMemFree(memory) || cuMemAlloc(&memory, 2048) || cuMemsetD32(memory, 1, 512));
    cuMemsetD32(memory + 1024, 1, 1024);
    cuMemcpy(memory, (CUdeviceptr)heap, sizeof(heap));
    CHECK(cuMemFree(memory));
}

static void ends(void) {
    CUdeviceptr memory;
    void *host;
    CHECK(cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL) || cuMemsetD8(memory, 1, 64) || cuMemFree(memory));
    cuMemsetD8(memory, 1, 64);
    CHECK(cuMemAllocHost(&host, 4096) || cuMemFreeHost(host));
    cuMemFreeHost(host);
}

static void mapped(void) {
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle, same;
    CUdeviceptr at;
    size_t size = 2 << 20;
    CHECK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0) || cuMemCreate(&handle, size, &prop, 0) || cuMemMap(at, size, 0, handle, 0));
    CHECK(cuMemSetAccess(at, size, &access, 1) || cuMemsetD8(at, 1, 64));
    CHECK(cuMemRetainAllocationHandle(&same, (void *)at) || cuMemRelease(same) || cuMemRelease(handle));
    CHECK(cuMemUnmap(at, size));
    cuMemsetD8(at, 1, 64);
    CHECK(cuMemAddressFree(at, 2 * size));
    cuMemsetD8(at, 1, 64);
}

static void launch(void) {
    static long table[500];
    table[0] = 7;
    CUmodule module;
    CUfunction large;
    unsigned long to = 0;
    unsigned n = 9;
    void *parameters[] = {table, &to, &n};
    CHECK(cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&large, module, "large"));
    CHECK(cuLaunchKernel(large, 1, 1, 1, 1, 1, 1, 0, 0, parameters, 0));
    CHECK(cuModuleUnload(module));
    cuModuleUnload(module);
}

int main(void) {
    CUcontext context;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context));
    lengths();
    ends();
    mapped();
    launch();
    puts("done");
    return 0;
}
