// Relocatable code: offsets in constant bank 3 are left to a linker. nvJitLink 12.9 made `linked-12.9-sm_90.cubin` of it.
__constant__ unsigned first[5] = {1, 2, 3, 4, 5};
__constant__ unsigned second[4] = {10, 20, 30, 40};
extern "C" __global__ void constants(unsigned *out) { out[threadIdx.x] = first[3] + second[2] + second[threadIdx.x & 3]; }
