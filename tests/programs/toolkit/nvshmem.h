/* What the program and the stand-in library of nvSHMEM share: prototypes of ours, as nvSHMEM 3's headers have them. */
#pragma once
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

typedef int nvshmem_team_t;

int nvshmem_my_pe(void);
int nvshmem_team_n_pes(nvshmem_team_t team);
int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size, const void *config, long mask, nvshmem_team_t *team);
void *nvshmem_malloc(size_t size);
void nvshmem_free(void *p);
void nvshmemx_float_put_on_stream(float *dest, const float *source, size_t n, int pe, cudaStream_t stream);
void nvshmemx_float_p_on_stream(float *dest, float value, int pe, cudaStream_t stream);
void nvshmemx_putmem_signal_on_stream(void *dest, const void *source, size_t bytes, uint64_t *sig, uint64_t signal, int op, int pe, cudaStream_t stream);
void nvshmemx_signal_wait_until_on_stream(uint64_t *sig, int cmp, uint64_t value, cudaStream_t stream);
int nvshmemx_float_sum_reduce_on_stream(nvshmem_team_t team, float *dest, const float *src, size_t n, cudaStream_t stream);
