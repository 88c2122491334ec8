// Kernels that read the driver's words of constant bank 0, run in clusters, or name functions of libcuda.
extern "C" __device__ int vprintf(const char *, void *);
typedef unsigned long long address;
struct alignas(64) Map { unsigned word[32]; };
__device__ unsigned seen[2];

// Without parameters.
extern "C" __global__ void noparam() { seen[0] = blockDim.x; seen[1] = gridDim.x; }

// The address of a parameter.
extern "C" __global__ void byaddress(const __grid_constant__ Map map, unsigned *out, int n)
{
    const unsigned *words = map.word;
    asm volatile("" : "+l"(words));
    out[threadIdx.x] = words[(threadIdx.x * 7 + n) & 31];
}

extern "C" __global__ void dynamic(unsigned *out)
{
    unsigned bytes, all;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    asm("mov.u32 %0, %%total_smem_size;" : "=r"(all));
    out[0] = bytes; out[1] = all;
}

// What a block knows of its cluster: 16 words, one block after the other.
__device__ void tell(unsigned *out)
{
    unsigned w[16];
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(w[0])); asm("mov.u32 %0, %%clusterid.y;" : "=r"(w[1]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(w[2])); asm("mov.u32 %0, %%nclusterid.x;" : "=r"(w[3]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(w[4])); asm("mov.u32 %0, %%nclusterid.z;" : "=r"(w[5]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(w[6])); asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(w[7]));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(w[8])); asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(w[9]));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(w[10])); asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(w[11]));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(w[12])); asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(w[13]));
    w[14] = gridDim.x; w[15] = 1;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (!threadIdx.x) for (int n = 0; n < 16; n++) out[16 * block + n] = w[n];
}
extern "C" __global__ void clusters(unsigned *out) { tell(out); }
// The cubin says the sides of a cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1) fixed(unsigned *out) { tell(out); }

// Each block reads the shared memory of the next block of its cluster.
extern "C" __global__ void exchange(unsigned *out)
{
    __shared__ unsigned own[256];
    unsigned rank, size, there, value;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    own[threadIdx.x] = at * 3 + 1;
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    unsigned here = (unsigned)__cvta_generic_to_shared(own + threadIdx.x);
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"((rank + 1) % size));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    out[at] = value;
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

// The same by an address of the whole space, through the window of shared memory.
extern "C" __global__ void generic(unsigned *out)
{
    __shared__ unsigned own[256];
    unsigned rank, size; unsigned *there;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    own[threadIdx.x] = at * 3 + 1;
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own + threadIdx.x), "r"((rank + 1) % size));
    out[at] = *(volatile unsigned *)there;
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

// A box of 32 x 8 words by a tensor map, through shared memory to `out`.
extern "C" __global__ void tensor(const __grid_constant__ Map map, unsigned *out, int x, int y)
{
    __shared__ alignas(128) unsigned box[256];
    __shared__ alignas(8) address full;
    unsigned to = (unsigned)__cvta_generic_to_shared(box), barrier = (unsigned)__cvta_generic_to_shared(&full);
    if (!threadIdx.x) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(barrier));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" :: "r"(barrier));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
            :: "r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier) : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
    out[threadIdx.x] = box[threadIdx.x];
}

// Functions of libcuda, reached where `bits` say so.
extern "C" __global__ void calls(unsigned *out, unsigned bits)
{
    unsigned n = threadIdx.x;
    if (bits >> n & 1) {
        vprintf("%d\n", &n);
        *(unsigned *)malloc(4) = n;
        __assertfail("n", "launches.cu", 1, "calls", 1);
    }
    out[n] = n * n + bits;
}
