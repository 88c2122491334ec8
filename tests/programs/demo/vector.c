// y = a*x + y on vectors, in plain C on NVIDIA's CUDA runtime, with a kernel from PTX, a stream and
// events. `cargo xtask demo` links it with libcudart_static.a and traces it. It needs no nvcc.
//
//     gcc -I CUDART/include vector.c CUDART/lib/libcudart_static.a -lpthread -ldl -lrt -o vector
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 16 };

static const char *const SAXPY = // clang-format off
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry _Z5saxpyifPKfPf(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)\n{\n"
    "  .reg .pred %p;\n  .reg .b32 %i, %n, %w, %b, %t;\n  .reg .f32 %a, %u, %v;\n  .reg .b64 %x, %y, %o;\n"
    "  ld.param.u32 %n, [n];\n  ld.param.f32 %a, [a];\n  ld.param.u64 %x, [x];\n  ld.param.u64 %y, [y];\n"
    "  mov.u32 %w, %ntid.x;\n  mov.u32 %b, %ctaid.x;\n  mov.u32 %t, %tid.x;\n"
    "  mad.lo.s32 %i, %b, %w, %t;\n  setp.ge.s32 %p, %i, %n;\n  @%p bra done;\n"
    "  cvta.to.global.u64 %x, %x;\n  cvta.to.global.u64 %y, %y;\n"
    "  mul.wide.s32 %o, %i, 4;\n  add.s64 %x, %x, %o;\n  add.s64 %y, %y, %o;\n"
    "  ld.global.f32 %u, [%x];\n  ld.global.f32 %v, [%y];\n  fma.rn.f32 %v, %a, %u, %v;\n"
    "  st.global.f32 [%y], %v;\ndone:\n  ret;\n}\n"; // clang-format on

static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "vector: %s: %s (%d)\n", what, cudaGetErrorString(error), error);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

int main(void) {
    static float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }

    int n = N, version = 0;
    float a = 2.0f, ms = 0, *dx, *dy;
    struct cudaDeviceProp device;
    CHECK(cudaRuntimeGetVersion(&version));
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("vector: runtime %d.%d on %s\n", version / 1000, version % 1000 / 10, device.name);

    cudaLibrary_t library;
    cudaKernel_t saxpy;
    CHECK(cudaLibraryLoadData(&library, SAXPY, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&saxpy, library, "_Z5saxpyifPKfPf"));

    cudaStream_t stream;
    cudaEvent_t start, end;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMalloc((void **)&dx, sizeof x));
    CHECK(cudaMalloc((void **)&dy, sizeof y));
    CHECK(cudaMemcpyAsync(dx, x, sizeof x, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(dy, y, sizeof y, cudaMemcpyHostToDevice, stream));

    void *arguments[] = {&n, &a, &dx, &dy};
    CHECK(cudaEventRecord(start, stream));
    CHECK(cudaLaunchKernel((void *)saxpy, (dim3){N / 256, 1, 1}, (dim3){256, 1, 1}, arguments, 0, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaMemcpyAsync(y, dy, sizeof y, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventElapsedTime(&ms, start, end));

    int right = 0, untouched = 0;
    for (int i = 0; i < N; i++) {
        right += y[i] == 2.0f * (float)i + 1.0f;
        untouched += y[i] == 1.0f;
    }
    CHECK(cudaFree(dx));
    CHECK(cudaFree(dy));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaLibraryUnload(library));

    if (right == N) {
        printf("vector: all %d elements are right\n", N);
    } else if (untouched == N) { // the simulated driver accepts launches and does not execute them
        printf("vector: the kernel was accepted, but not executed\n");
    } else {
        printf("vector: %d of %d elements are wrong\n", N - right, N);
        return 1;
    }
    return 0;
}
