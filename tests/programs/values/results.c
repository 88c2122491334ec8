/* What is no status: a struct that is returned whole, where the caller says. Its arguments must not be taken for others. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void) {
    struct cudaChannelFormatDesc all = cudaCreateChannelDesc(8, 16, 32, 0, cudaChannelFormatKindUnsigned);
    puts(all.x == 8 && all.y == 16 && all.z == 32 ? "done" : "wrong");
    return 0;
}
