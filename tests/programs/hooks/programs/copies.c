/* Every cudaMemcpy and cudaMemcpyAsync, by the default stream and by the per-thread one, and copies of nothing. */
#include "../../runtimes/cudart.h"

cudaError_t cudaMemcpy_ptds(void *, const void *, size_t, int);
cudaError_t cudaMemcpyAsync_ptsz(void *, const void *, size_t, int, cudaStream_t);
cudaError_t cudaStreamCreate(cudaStream_t *);
#ifdef PER_THREAD
#define cudaMemcpy cudaMemcpy_ptds
#define cudaMemcpyAsync cudaMemcpyAsync_ptsz
#endif

static char host[4096], back[4096];

int main(void) {
    void *a, *b;
    cudaStream_t stream;
    if (cudaMalloc(&a, 4096) || cudaMalloc(&b, 4096) || cudaStreamCreate(&stream)) return 1;
    int wrong = 0;
    wrong |= cudaMemcpy(a, host, 4096, toDevice);
    wrong |= cudaMemcpy(back, a, 4096, toHost);
    wrong |= cudaMemcpy(b, a, 4096, onDevice);
    wrong |= cudaMemcpy(b, host, 4096, anyWay);
    wrong |= cudaMemcpy(back, host, 4096, 0);
    wrong |= cudaMemcpyAsync(a, host, 4096, toDevice, 0);
    wrong |= cudaMemcpyAsync(back, a, 4096, toHost, stream);
    wrong |= cudaMemcpyAsync(b, a, 4096, onDevice, stream);
    wrong |= cudaMemcpyAsync(b, host, 4096, anyWay, 0);
    wrong |= cudaMemcpyAsync(back, host, 4096, 0, stream);
    wrong |= cudaMemcpy(a, host, 0, toDevice);
    wrong |= cudaMemcpyAsync(a, host, 0, toDevice, stream);
    wrong |= cudaStreamSynchronize(stream);
    printf("done %d\n", wrong);
    return 0;
}
