/* libnvshmem_host.so.3 for a machine that does not have it: memory is the runtime's, and nothing is sent. */
#include "nvshmem.h"

int nvshmem_my_pe(void) { return 0; }
int nvshmem_team_n_pes(nvshmem_team_t team) { return team == 0 ? 2 : -1; }
int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size, const void *config, long mask, nvshmem_team_t *team) {
    *team = 7;
    return parent || start || stride != 2 || size != 1 || config || mask;
}
void *nvshmem_malloc(size_t size) {
    void *p = 0;
    return cudaMalloc(&p, size) ? 0 : p;
}
void nvshmem_free(void *p) { cudaFree(p); }
void nvshmemx_float_put_on_stream(float *dest, const float *source, size_t n, int pe, cudaStream_t stream) {}
void nvshmemx_float_p_on_stream(float *dest, float value, int pe, cudaStream_t stream) {}
void nvshmemx_putmem_signal_on_stream(void *dest, const void *source, size_t bytes, uint64_t *sig, uint64_t signal, int op, int pe, cudaStream_t stream) {}
void nvshmemx_signal_wait_until_on_stream(uint64_t *sig, int cmp, uint64_t value, cudaStream_t stream) {}
int nvshmemx_float_sum_reduce_on_stream(nvshmem_team_t team, float *dest, const float *src, size_t n, cudaStream_t stream) {
    return team != 7 || !dest || !src || n != 1024 || !stream;
}
