// Kernels of the tests. `python3 build.py` makes the cubins from them.
#if __CUDACC_VER_MAJOR__ >= 12
struct Large { unsigned word[8184]; };
#endif
__constant__ float table[64] = { 1.0f, 2.0f, 3.0f };
__device__ unsigned counter = 7;
__device__ unsigned empty[1024];
__device__ unsigned *pointer = &counter;

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// Each launch needs the one before: c becomes 3 c + k.
extern "C" __global__ void step(unsigned *c, unsigned k, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = c[i] * 3 + k;
}

// Static shared memory and a barrier.
extern "C" __global__ void revblock(const float *a, const float *b, float *c, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    if (base + t < n) s[t] = a[base + t];
    __syncthreads();
    if (base + t < n) c[base + t] = s[255 - t] + b[base + t];
}

// Dynamic shared memory: each block reverses blockDim.x words through the end of its memory.
extern "C" __global__ void revdynamic(unsigned *c, int words)
{
    extern __shared__ unsigned d[];
    int t = threadIdx.x, base = blockIdx.x * blockDim.x, top = words - blockDim.x;
    d[top + t] = c[base + t];
    __syncthreads();
    c[base + t] = d[top + blockDim.x - 1 - t];
}

// A stack array that the compiler cannot keep in registers.
extern "C" __global__ void localarr(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile float v[256];
    if (i >= n) return;
    for (int k = 0; k < 256; k++) v[k] = a[i] + k;
    c[i] = v[(i * 7) & 255] + b[i] + v[n & 255];
}

// Sum of all words, by shared memory and one atomic a block.
extern "C" __global__ void sum(const unsigned *a, unsigned long long *out, int n)
{
    __shared__ unsigned long long s[256];
    unsigned long long own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += a[i];
    s[threadIdx.x] = own;
    for (int k = 128; k; k >>= 1) { __syncthreads(); if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; }
    if (!threadIdx.x) atomicAdd(out, s[0]);
}

// Matrix product of n x n in 16 x 16 tiles.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float x[16][17], y[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// All dimensions: one word a thread says who it was.
extern "C" __global__ void who(unsigned *out)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned all = blockDim.x * blockDim.y * blockDim.z;
    out[block * all + thread] = block << 12 | thread;
}

// Parameters near the limit of 32,764 bytes, which CUDA 12.1 brought.
#if __CUDACC_VER_MAJOR__ >= 12
extern "C" __global__ void large(const __grid_constant__ Large p, unsigned *out)
{
    for (int i = threadIdx.x; i < 8184; i += blockDim.x) out[i] = p.word[i] + 1;
}
#endif

// Globals and constants: initial values, an address in memory.
extern "C" __global__ void globals(unsigned *out)
{
    out[0] = counter; out[1] = (unsigned)table[2]; out[2] = *pointer; out[3] = empty[5];
    empty[5] = 55; atomicAdd(&counter, 1);
}

// Busy for so many nanoseconds.
extern "C" __global__ void spin(unsigned long long ns, unsigned *out)
{
    unsigned long long t0, t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); while (t - t0 < ns);
    if (out && !threadIdx.x && !blockIdx.x) *out += 1;
}

extern "C" __global__ void nothing(unsigned *out) { if (out) *out = 1; }

// A call through a table of function addresses.
__device__ __noinline__ unsigned twice(unsigned x) { return x * 2 + clock() % 1; }
__device__ __noinline__ unsigned thrice(unsigned x) { return x * 3 + clock() % 1; }
__device__ unsigned (*functions[2])(unsigned) = { twice, thrice };
extern "C" __global__ void indirect(unsigned *out, int which) { out[threadIdx.x] = functions[which & 1](threadIdx.x) + twice(1); }

extern "C" __device__ int vprintf(const char *, void *);
extern "C" __global__ void prints(int n) { vprintf("n\n", &n); }
