// Copies within video memory, 16 bytes a load. A copy engine reaches a quarter of this kernel's rate on an H200.
// `python3 tests/cubins/build.py LIBNVRTC src/kernels/copy-sm_90.cubin sm_90 ../../src/kernels/copy.cu` makes the cubin.
extern "C" __global__ void __launch_bounds__(512) copy(uint4 *to, const uint4 *from, unsigned long long n)
{
    unsigned long long base = blockIdx.x * 2048ull, i = base + threadIdx.x;
    if (base + 2048 <= n) {
        uint4 a = from[i], b = from[i + 512], c = from[i + 1024], d = from[i + 1536];
        to[i] = a; to[i + 512] = b; to[i + 1024] = c; to[i + 1536] = d;
    } else {
        for (; i < n; i += 512) to[i] = from[i];
    }
}
