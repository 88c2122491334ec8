/* The same in calls of a runtime: the kind of a copy leaves the side to the addresses, or tells it. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

enum { BYTES = 1 << 20 };

int main(void) {
    void *device;
    char *large = malloc(BYTES), *closed = mmap(0, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(cudaMalloc(&device, BYTES));
    CHECK(cudaMemcpy(device, large, 16, cudaMemcpyDefault));
    CHECK(cudaMemcpyAsync(large, device, 32, cudaMemcpyDefault, 0));
    CHECK(cudaMemcpy(device, large, 64, cudaMemcpyHostToDevice));
    cudaMemcpy(device, closed, 0, cudaMemcpyDefault);
    puts("done");
    return 0;
}
