// Small kernels for fat binaries: cubins of NVRTC 12.9 for sm_80, 90 and 100 and PTX of compute_80, joined by `fatbinary` of
// CUDA 13.0 with --compress-all and --compress-mode=speed (LZ4) or size (Zstandard).
extern "C" __global__ void step(unsigned *c, unsigned k, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = c[i] * 3 + k;
}
extern "C" __global__ void compressible(float *c, const float *a)
{
    float s = a[threadIdx.x];
#pragma unroll
    for (int i = 0; i < 60; i++) s = s * c[i * 1024] + a[i * 512 + threadIdx.x];
    c[threadIdx.x] = s;
}
