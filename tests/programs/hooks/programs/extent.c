/* Allocates in three dimensions. */
#include "../../runtimes/cudart.h"

int main(void) {
    struct cudaPitchedPtr pointer = {0};
    struct cudaExtent extent = {100, 20, 3};
    int code = cudaMalloc3D(&pointer, extent);
    printf("%d: %zu by %zu\n", code, pointer.xsize, pointer.ysize);
    return 0;
}
