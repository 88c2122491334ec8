/* A program built with CUDA 11 on a 12.x runtime: the plain name fills the struct of 11.x, which has other fields. */
#include <stddef.h>
#include <stdio.h>

struct properties {
    char name[256], uuid[16], luid[8];
    unsigned luid_mask;
    size_t memory, shared_memory;
    int registers, warp;
    size_t pitch;
    int threads, block[3], grid[3], clock;
    size_t constant;
    int major, minor;
    char more[728 - 368];
};
int cudaGetDeviceProperties(struct properties *p, int device);

int main(void) {
    struct properties p[2] = {0};
    int error = cudaGetDeviceProperties(p, 0);
    printf("%d %zu %s %d %d.%d %d\n", error, sizeof *p, p[0].name, p[0].warp, p[0].major, p[0].minor, p[1].name[0]);
    return 0;
}
