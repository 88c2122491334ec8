/* The libraries of NPP for a machine that does not have them: each function says whether it got what npp.c gave it. Built once for
 * each library (-DIAL, -DIDEI, ...) with its SONAME. */
#include "npp.h"
#include <cuda_runtime.h>

static int good(NppStreamContext c) { return c.hStream && c.nMultiProcessorCount == 132 && c.nCudaDevAttrComputeCapabilityMajor == 9; }
#define SAYS(condition) return good(c) && (condition) ? 0 : -2

#ifdef IAL
int nppiAdd_8u_C1RSfs_Ctx(const u8 *a, int as, const u8 *b, int bs, u8 *d, int ds, NppiSize roi, int scale, NppStreamContext c) {
    if (!a) return -8;
    SAYS(as == 64 && b && bs == 64 && d && ds == 64 && roi.width == 64 && roi.height == 32 && scale == 1);
}
int nppiAddC_8u_C3RSfs_Ctx(const u8 *a, int as, const u8 *k, u8 *d, int ds, NppiSize roi, int scale, NppStreamContext c) {
    SAYS(a == d && as == 192 && k[2] == 3 && ds == 192 && roi.height == 32 && scale == 0);
}
#endif
#ifdef IDEI
int nppiCopy_8u_P3C3R_Ctx(const u8 *const *planes, int s, u8 *d, int ds, NppiSize roi, NppStreamContext c) {
    SAYS(planes[0] == planes[2] && s == 64 && d && ds == 192 && roi.width == 64);
}
#endif
#ifdef IG
int nppiWarpAffine_8u_C1R_Ctx(const u8 *a, NppiSize size, int as, NppiRect from, u8 *d, int ds, NppiRect to,
    const double k[2][3], int interpolation, NppStreamContext c) {
    SAYS(a && size.width == 64 && as == 64 && from.y == 2 && from.width == 60 && d && ds == 64 && to.x == 3 && to.height == 20 &&
        k[1][2] == 2 && interpolation == 2);
}
#endif
#ifdef IST
int nppiSumGetBufferHostSize_8u_C1R_Ctx(NppiSize roi, size_t *size, NppStreamContext c) { *size = 32768; SAYS(roi.width == 64); }
#endif
#ifdef S
int nppsAddC_32f_Ctx(const float *a, float v, float *d, size_t n, NppStreamContext c) { SAYS(a && v == 0.25 && d && n == 16); }
int nppsAddC_32fc_Ctx(const Npp32fc *a, Npp32fc v, Npp32fc *d, size_t n, NppStreamContext c) { SAYS(a && v.im == -2 && d && n == 8); }
#endif
#ifdef ISU
u8 *nppiMalloc_8u_C1(int width, int height, int *step) {
    void *p = 0;
    size_t pitch = 0;
    if (cudaMallocPitch(&p, &pitch, width + 32, height)) return 0;
    *step = (int)pitch;
    return p;
}
void nppiFree(void *p) { cudaFree(p); }
#endif
