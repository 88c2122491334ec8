/* What the programs and the stand-in libraries of NPP share: prototypes of ours, as NPP 12's headers have them. */
#pragma once
#include <stddef.h>

typedef struct { int width, height; } NppiSize;
typedef struct { int x, y, width, height; } NppiRect;
typedef struct { float re, im; } Npp32fc;
typedef struct {
    void *hStream;
    int nCudaDeviceId, nMultiProcessorCount, nMaxThreadsPerMultiProcessor, nMaxThreadsPerBlock;
    size_t nSharedMemPerBlock;
    int nCudaDevAttrComputeCapabilityMajor, nCudaDevAttrComputeCapabilityMinor;
    unsigned nStreamFlags;
    int nReserved0;
} NppStreamContext;
typedef unsigned char u8;

/* libnppial */
int nppiAdd_8u_C1RSfs_Ctx(const u8 *a, int as, const u8 *b, int bs, u8 *d, int ds, NppiSize roi, int scale, NppStreamContext c);
int nppiAddC_8u_C3RSfs_Ctx(const u8 *a, int as, const u8 *constants, u8 *d, int ds, NppiSize roi, int scale, NppStreamContext c);
/* libnppidei */
int nppiCopy_8u_P3C3R_Ctx(const u8 *const *planes, int s, u8 *d, int ds, NppiSize roi, NppStreamContext c);
/* libnppig */
int nppiWarpAffine_8u_C1R_Ctx(const u8 *a, NppiSize size, int as, NppiRect from, u8 *d, int ds, NppiRect to,
    const double coefficients[2][3], int interpolation, NppStreamContext c);
/* libnppist */
int nppiSumGetBufferHostSize_8u_C1R_Ctx(NppiSize roi, size_t *size, NppStreamContext c);
/* libnpps */
int nppsAddC_32f_Ctx(const float *a, float value, float *d, size_t length, NppStreamContext c);
int nppsAddC_32fc_Ctx(const Npp32fc *a, Npp32fc value, Npp32fc *d, size_t length, NppStreamContext c);
/* libnppisu */
u8 *nppiMalloc_8u_C1(int width, int height, int *step);
void nppiFree(void *p);
