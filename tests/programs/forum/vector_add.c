/* "Why does LD_PRELOAD / ltrace not show my cudaMalloc?" Vector addition as it is in every tutorial, and as nvcc compiles it: the
 * kernel in a fat binary that a constructor registers, <<<blocks, threads>>> as a pushed configuration and a launch. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 50000 };

/* __global__ void vectorAdd(const float *A, const float *B, float *C, int numElements) */
static const char ptx[] = /* clang-format off */
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry _Z9vectorAddPKfS0_Pfi(.param .u64 A, .param .u64 B, .param .u64 C, .param .u32 n)\n{\n"
    "  .reg .pred %p;\n  .reg .b32 %i, %n, %w, %b, %t;\n  .reg .f32 %u, %v;\n  .reg .b64 %x, %y, %z, %o;\n"
    "  ld.param.u64 %x, [A];\n  ld.param.u64 %y, [B];\n  ld.param.u64 %z, [C];\n  ld.param.u32 %n, [n];\n"
    "  mov.u32 %w, %ntid.x;\n  mov.u32 %b, %ctaid.x;\n  mov.u32 %t, %tid.x;\n"
    "  mad.lo.s32 %i, %b, %w, %t;\n  setp.ge.s32 %p, %i, %n;\n  @%p bra done;\n"
    "  cvta.to.global.u64 %x, %x;\n  cvta.to.global.u64 %y, %y;\n  cvta.to.global.u64 %z, %z;\n"
    "  mul.wide.s32 %o, %i, 4;\n  add.s64 %x, %x, %o;\n  add.s64 %y, %y, %o;\n  add.s64 %z, %z, %o;\n"
    "  ld.global.f32 %u, [%x];\n  ld.global.f32 %v, [%y];\n  add.f32 %v, %u, %v;\n"
    "  st.global.f32 [%z], %v;\ndone:\n  ret;\n}\n"; /* clang-format on */

/* ---- what nvcc adds ---- */
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);

#include "../runtimes/fatbin.h"
static void **code;

static void vectorAdd(const float *A, const float *B, float *C, int n) {
    dim3 blocks, threads;
    size_t shared;
    cudaStream_t stream;
    void *args[] = {&A, &B, &C, &n};
    if (__cudaPopCallConfiguration(&blocks, &threads, &shared, &stream)) return;
    cudaLaunchKernel((void *)vectorAdd, blocks, threads, args, shared, stream);
}
static void unregister(void) { __cudaUnregisterFatBinary(code); }
__attribute__((constructor)) static void register_code(void) {
    code = __cudaRegisterFatBinary(fat_binary(52));
    __cudaRegisterFunction(code, (const char *)vectorAdd, "_Z9vectorAddPKfS0_Pfi", "_Z9vectorAddPKfS0_Pfi", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(code);
    atexit(unregister);
}

/* ---- the program ---- */
static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "%s (error code %s)!\n", what, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define CHECK(call) check(call, "failed: " #call)

int main(void) {
    size_t size = N * sizeof(float);
    float *h_A = malloc(size), *h_B = malloc(size), *h_C = malloc(size), *d_A = NULL, *d_B = NULL, *d_C = NULL;
    printf("[Vector addition of %d elements]\n", N);
    for (int i = 0; i < N; i++) h_A[i] = (float)(i + 1), h_B[i] = 2 * (float)(i + 1), h_C[i] = -1;
    CHECK(cudaMalloc((void **)&d_A, size));
    CHECK(cudaMalloc((void **)&d_B, size));
    CHECK(cudaMalloc((void **)&d_C, size));
    CHECK(cudaMemcpy(d_A, h_A, size, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, size, cudaMemcpyHostToDevice));
    dim3 blocks = {(N + 255) / 256, 1, 1}, threads = {256, 1, 1};
    if (!__cudaPushCallConfiguration(blocks, threads, 0, 0)) vectorAdd(d_A, d_B, d_C, N);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(h_C, d_C, size, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int i = 0; i < N; i++) right += h_C[i] == h_A[i] + h_B[i];
    CHECK(cudaFree(d_A));
    CHECK(cudaFree(d_B));
    CHECK(cudaFree(d_C));
    CHECK(cudaDeviceReset());
    puts(right == N ? "Test PASSED" : "Test not run: nothing executed the kernel");
    return right != N && right != 0;
}
