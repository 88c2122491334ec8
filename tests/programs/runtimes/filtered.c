/* Memory that ends and whose address is given again, in every way that a filter may leave out: what goes wrong is that an address
 * is shown as the memory that was there before. */
#include "cudart.h"

static char host[8192];

/* A copy from memory that may have ended: only its arguments are of interest. */
static void look(void *memory) {
    CALL(cudaMemcpy(host, memory, 64, toHost));
    cudaGetLastError();
}

int main(void) {
    void *first, *second, *pinned, *managed, *pooled;
    cudaStream_t stream;
    OK(cudaMalloc(&first, 4096));
    look(first);
    OK(cudaFree(first));
    look(first);
    OK(cudaMalloc(&second, 8192));
    look(second);
    look((char *)second + 4096);
    OK(cudaMallocHost(&pinned, 4096));
    OK(cudaMemcpy(second, pinned, 64, toDevice));
    OK(cudaFreeHost(pinned));
    OK(cudaMallocManaged(&managed, 4096, 1));
    look(managed);
    OK(cudaFree(managed));
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync(&pooled, 4096, stream));
    OK(cudaFreeAsync(pooled, stream));
    OK(cudaStreamSynchronize(stream));
    look(pooled);
    OK(cudaMemset(second, 0, 8192));
    OK(cudaDeviceReset());
    look(second);
    puts("done");
    return 0;
}
