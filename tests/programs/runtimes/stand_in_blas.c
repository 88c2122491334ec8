/* In the place of libcublas: a library with a runtime of its own inside, as NVIDIA's have. Its gemm launches two kernels. */
#include "cudart.h"

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry _Z5scalePfif(.param .u64 x, .param .u32 n, .param .f32 a)\n{ ret; }\n";

struct handle { void *workspace, *library, *kernel; };

int cublasCreate_v2(struct handle **made) {
    struct handle *h = *made = calloc(1, sizeof *h);
    return cudaMalloc(&h->workspace, 4 << 20) || cudaLibraryLoadData(&h->library, ptx, NULL, NULL, 0, NULL, NULL, 0) ||
        cudaLibraryGetKernel(&h->kernel, h->library, "_Z5scalePfif");
}
int cublasDestroy_v2(struct handle *h) {
    int failed = cudaFree(h->workspace) || cudaLibraryUnload(h->library);
    free(h);
    return failed;
}
int cublasSgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *A, int lda, const float *B,
    int ldb, const float *beta, float *C, int ldc) {
    dim3 one = { 1, 1, 1 };
    float a = *alpha + *beta;
    void *arguments[] = { &C, &m, &a };
    (void)ta, (void)tb, (void)n, (void)k, (void)A, (void)lda, (void)B, (void)ldb, (void)ldc;
    return cudaLaunchKernel(h->kernel, one, one, arguments, 0, NULL) || cudaLaunchKernel(h->kernel, one, one, arguments, 0, NULL);
}
