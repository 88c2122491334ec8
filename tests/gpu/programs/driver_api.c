/* A driver-API program without any runtime: PTX in, vector add, verified.
 *
 * It reaches the driver on every route: by link, through dlsym, and through
 * cuGetProcAddress_v2. It makes one call that fails on purpose and goes on.
 * The prototypes are written out, so that neither cuda.h nor nvcc is needed to
 * build it; its output never holds an address or a time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t dptr;
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *ctx);
int cuMemAlloc_v2(dptr *out, size_t bytes);
int cuMemFree_v2(dptr p);
int cuMemcpyHtoD_v2(dptr dst, const void *src, size_t bytes);
int cuMemcpyDtoHAsync_v2(void *dst, dptr src, size_t bytes, void *stream);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleUnload(void *module);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuStreamDestroy_v2(void *stream);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int cuGetErrorName(int code, const char **name);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

static const char ptx[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
    "{\n"
    "  .reg .pred %p;\n  .reg .b32 %r<6>;\n  .reg .f32 %f<4>;\n  .reg .b64 %d<8>;\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "  ld.param.u32 %r5, [n];\n  setp.ge.u32 %p, %r4, %r5;\n  @%p bra done;\n"
    "  ld.param.u64 %d1, [a];\n  ld.param.u64 %d2, [b];\n  ld.param.u64 %d3, [c];\n"
    "  mul.wide.u32 %d4, %r4, 4;\n"
    "  add.s64 %d5, %d1, %d4;\n  add.s64 %d6, %d2, %d4;\n  add.s64 %d7, %d3, %d4;\n"
    "  ld.global.f32 %f1, [%d5];\n  ld.global.f32 %f2, [%d6];\n"
    "  add.f32 %f3, %f1, %f2;\n  st.global.f32 [%d7], %f3;\n"
    "done:\n  ret;\n}\n";

/* What the trace must show of a call: a line in the file that CUTAP_FACTS names (facts.py reads it). */
static FILE *facts;
#define FACT(...) ((void)(facts && fprintf(facts, __VA_ARGS__)))

enum { N = 10000 };
static float a[N], b[N], c[N];

static void check(int code, const char *what)
{
    const char *name = "?";
    if (code == 0)
        return;
    cuGetErrorName(code, &name);
    fprintf(stderr, "driver_api: %s: %s (%d)\n", what, name, code);
    exit(1);
}

int main(void)
{
    int count = 0, device = 0, status = -1;
    void *ctx = NULL, *module = NULL, *vadd = NULL, *stream = NULL, *found = NULL;
    dptr da = 0, db = 0, dc = 0, huge = 0;

    if (getenv("CUTAP_FACTS"))
        facts = fopen(getenv("CUTAP_FACTS"), "w");
    check(cuInit(0), "cuInit");
    check(cuDeviceGetCount(&count), "cuDeviceGetCount");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&ctx, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");

    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(3 * i);
    }
    check(cuMemAlloc_v2(&da, sizeof a), "cuMemAlloc_v2");
    check(cuMemAlloc_v2(&db, sizeof b), "cuMemAlloc_v2");
    check(cuMemAlloc_v2(&dc, sizeof c), "cuMemAlloc_v2");
    FACT("cuMemAlloc_v2 dptr=%#lx bytesize=%zu\n", da, sizeof a);
    FACT("cuMemAlloc_v2 dptr=%#lx bytesize=%zu\n", dc, sizeof c);
    check(cuMemcpyHtoD_v2(da, a, sizeof a), "cuMemcpyHtoD_v2");
    check(cuMemcpyHtoD_v2(db, b, sizeof b), "cuMemcpyHtoD_v2");
    FACT("cuMemcpyHtoD_v2 dstDevice=%#lx srcHost=%p ByteCount=%zu\n", db, (void *)b, sizeof b);

    int (*memset32)(dptr, unsigned, size_t) =
        (int (*)(dptr, unsigned, size_t))dlsym(RTLD_DEFAULT, "cuMemsetD32_v2");
    if (memset32 == NULL) {
        printf("dlsym finds no cuMemsetD32_v2\n");
        return 1;
    }
    check(memset32(dc, 0, N), "cuMemsetD32_v2");
    FACT("cuMemsetD32_v2 dstDevice=%#lx ui=0 N=%d\n", dc, N);
    check(cuGetProcAddress_v2("cuMemGetInfo", &found, 12000, 0, &status), "cuGetProcAddress_v2");
    size_t free_bytes = 0, total_bytes = 0;
    if (found == NULL || status != 0) {
        printf("cuGetProcAddress_v2 finds no cuMemGetInfo: status %d\n", status);
        return 1;
    }
    check(((int (*)(size_t *, size_t *))found)(&free_bytes, &total_bytes), "cuMemGetInfo");
    FACT("cuGetProcAddress_v2 symbol=cuMemGetInfo cudaVersion=12000\n");
    FACT("cuMemGetInfo_v2 free=%zu total=%zu\n", free_bytes, total_bytes);
    FACT("cuMemAlloc_v2 bytesize=%zu result=CUDA_ERROR_OUT_OF_MEMORY\n", (size_t)1 << 60);
    printf("memory known: %s\n", total_bytes >= free_bytes && free_bytes > 0 ? "yes" : "no");
    printf("allocation of 2^60 bytes: error %d\n", cuMemAlloc_v2(&huge, (size_t)1 << 60));

    check(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    check(cuModuleGetFunction(&vadd, module, "vadd"), "cuModuleGetFunction");
    check(cuStreamCreate(&stream, 1), "cuStreamCreate");
    FACT("cuModuleGetFunction name=vadd\n");
    FACT("cuStreamCreate Flags=CU_STREAM_NON_BLOCKING\n");
    unsigned n = N;
    void *params[] = {&da, &db, &dc, &n};
    for (int round = 0; round < 5; round++)
        check(cuLaunchKernel(vadd, (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL),
              "cuLaunchKernel");
    FACT("cuLaunchKernel gridDimX=%d gridDimY=1 blockDimX=128 sharedMemBytes=0 kernelParams=%#lx,%#lx,%#lx,%u\n",
         (N + 127) / 128, da, db, dc, n);
    check(cuMemcpyDtoHAsync_v2(c, dc, sizeof c, stream), "cuMemcpyDtoHAsync_v2");
    FACT("cuMemcpyDtoHAsync_v2 dstHost=%p srcDevice=%#lx ByteCount=%zu\n", (void *)c, dc, sizeof c);
    check(cuStreamSynchronize(stream), "cuStreamSynchronize");
    for (int i = 0; i < N; i++)
        if (c[i] != (float)(4 * i)) {
            printf("c[%d] = %g, expected %g\n", i, c[i], (float)(4 * i));
            return 1;
        }
    check(cuStreamDestroy_v2(stream), "cuStreamDestroy_v2");
    check(cuModuleUnload(module), "cuModuleUnload");
    check(cuMemFree_v2(da), "cuMemFree_v2");
    check(cuMemFree_v2(db), "cuMemFree_v2");
    check(cuMemFree_v2(dc), "cuMemFree_v2");
    FACT("cuMemFree_v2 dptr=%#lx\n", db);
    check(cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease_v2");
    printf("driver_api: %d elements, 5 launches, verified\n", N);
    return 0;
}
