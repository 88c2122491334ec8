/* nvSHMEM: symmetric memory, teams by name, signals and comparisons by name, a stream at the end of the parameters. */
#include "nvshmem.h"
#include <stdio.h>

int main(void) {
    cudaStream_t stream;
    if (cudaStreamCreate(&stream)) return 1;
    float *a = nvshmem_malloc(4096), *b = nvshmem_malloc(4096);
    uint64_t *signal = nvshmem_malloc(8);
    nvshmem_team_t half = 0;
    printf("%d %d", nvshmem_my_pe(), nvshmem_team_n_pes(0));
    printf(" %d", nvshmem_team_split_strided(0, 0, 2, 1, NULL, 0, &half));
    nvshmemx_float_put_on_stream(a, b, 1024, 1, stream);
    nvshmemx_float_p_on_stream(a, 0.5, 1, stream);
    nvshmemx_putmem_signal_on_stream(a, b, 4096, signal, 1, 9, 1, stream);
    nvshmemx_signal_wait_until_on_stream(signal, 0, 1, stream);
    printf(" %d\n", nvshmemx_float_sum_reduce_on_stream(half, a, b, 1024, stream));
    nvshmem_free(a);
    return 0;
}
