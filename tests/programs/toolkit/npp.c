/* NPP: structs by value in one register (NppiSize), in two (NppiRect), on the stack (NppStreamContext), in a vector register
 * (Npp32fc); lists of planes, constants for each channel; a wrong call. With the real libraries or with npp_stand_in.c. */
#include "npp.h"
#include <cuda_runtime.h>
#include <stdio.h>

static void *memory(size_t bytes) {
    void *p = NULL;
    if (cudaMalloc(&p, bytes)) printf("no memory\n");
    return p;
}

int main(void) {
    cudaStream_t stream;
    if (cudaStreamCreate(&stream)) return 1;
    NppStreamContext c = {stream, 0, 132, 2048, 1024, 49152, 9, 0, 0, 0};
    u8 *a = memory(64 * 32), *b = memory(64 * 32), *d = memory(192 * 32);
    NppiSize roi = {64, 32};
    printf("%d", nppiAdd_8u_C1RSfs_Ctx(a, 64, b, 64, d, 64, roi, 1, c));
    printf(" %d", nppiAdd_8u_C1RSfs_Ctx(NULL, 64, b, 64, d, 64, roi, 1, c));
    u8 constants[3] = {1, 2, 3};
    printf(" %d", nppiAddC_8u_C3RSfs_Ctx(d, 192, constants, d, 192, roi, 0, c));
    const u8 *planes[3] = {a, b, a};
    printf(" %d", nppiCopy_8u_P3C3R_Ctx(planes, 64, d, 192, roi, c));
    NppiRect from = {1, 2, 60, 28}, to = {3, 4, 50, 20};
    const double turn[2][3] = {{0.5, 0, 1}, {0, 0.5, 2}};
    printf(" %d", nppiWarpAffine_8u_C1R_Ctx(a, roi, 64, from, d, 64, to, turn, 2, c));
    size_t bytes = 0;
    printf(" %d", nppiSumGetBufferHostSize_8u_C1R_Ctx(roi, &bytes, c));
    Npp32fc z = {1.5, -2};
    printf(" %d", nppsAddC_32f_Ctx((float *)a, 0.25, (float *)d, 16, c));
    printf(" %d", nppsAddC_32fc_Ctx((Npp32fc *)a, z, (Npp32fc *)d, 8, c));
    int step = 0;
    u8 *image = nppiMalloc_8u_C1(100, 10, &step);
    nppiFree(image);
    printf(" %d %d\n", image != NULL, step);
    return 0;
}
