// Relocatable code with shared memory: only a linker knows where it is in a block's.
extern "C" __global__ void turned(unsigned *out)
{
    __shared__ unsigned own[64];
    own[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = own[63 - threadIdx.x];
}
