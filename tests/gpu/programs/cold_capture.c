/* Stream capture, in the strictest mode, of kernels that were never launched before.
 *
 * cutap asks the driver for a kernel's parameters at its first launch; a question that the
 * driver took for an unsafe call would end the capture. One kernel is a module's function,
 * one a library's, launched by its CUkernel handle. The output holds no address and no time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuCtxSetCurrent(void *ctx);
int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLibraryLoadData(void **library, const void *code, void **options, void **values, unsigned n,
                      void **library_options, void **library_values, unsigned library_n);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuStreamSynchronize(void *stream);
int cuGraphGetNodes(void *graph, void **nodes, size_t *count);
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cuGraphLaunch(void *exec, void *stream);
int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra);

#define KERNEL(name, value)                                                                      \
    ".version 6.3\n.target sm_75\n.address_size 64\n"                                            \
    ".visible .entry " name "(.param .u64 out, .param .u32 at)\n{\n"                             \
    "  .reg .b32 %r<3>;\n  .reg .b64 %d<4>;\n"                                                   \
    "  ld.param.u64 %d1, [out];\n  ld.param.u32 %r1, [at];\n  mul.wide.u32 %d2, %r1, 4;\n"       \
    "  add.s64 %d3, %d1, %d2;\n  mov.u32 %r2, " value ";\n  st.global.u32 [%d3], %r2;\n  ret;\n}\n"

static void check(int code, const char *what)
{
    if (code == 0)
        return;
    printf("cold_capture: %s = %d\n", what, code);
    exit(1);
}

int main(void)
{
    void *ctx, *module, *function, *library, *kernel, *stream, *graph, *exec;
    int device;
    uint64_t out;
    unsigned seen[2] = {0, 0};
    size_t nodes = 0;

    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&ctx, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
    check(cuMemAlloc_v2(&out, sizeof seen), "cuMemAlloc_v2");
    check(cuModuleLoadData(&module, KERNEL("of_module", "11")), "cuModuleLoadData");
    check(cuModuleGetFunction(&function, module, "of_module"), "cuModuleGetFunction");
    check(cuLibraryLoadData(&library, KERNEL("of_library", "22"), NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadData");
    check(cuLibraryGetKernel(&kernel, library, "of_library"), "cuLibraryGetKernel");
    check(cuStreamCreate(&stream, 1), "cuStreamCreate");
    check(cuStreamBeginCapture_v2(stream, 0), "cuStreamBeginCapture_v2");
    unsigned first = 0, second = 1;
    void *to_first[] = {&out, &first}, *to_second[] = {&out, &second};
    check(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, to_first, NULL), "cuLaunchKernel of a module's function");
    check(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, to_second, NULL), "cuLaunchKernel of a library's kernel");
    check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    check(cuGraphGetNodes(graph, NULL, &nodes), "cuGraphGetNodes");
    check(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
    check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
    check(cuStreamSynchronize(stream), "cuStreamSynchronize");
    check(cuMemcpyDtoH_v2(seen, out, sizeof seen), "cuMemcpyDtoH_v2");
    printf("cold_capture: %zu nodes, wrote %u and %u\n", nodes, seen[0], seen[1]);
    return seen[0] == 11 && seen[1] == 22 ? 0 : 1;
}
