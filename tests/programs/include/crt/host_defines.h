// The few words that cuda_runtime_api.h of the wheels expects from nvcc's crt/host_defines.h, which
// those wheels leave out, for a plain C or C++ compiler. Ours: nothing here is NVIDIA's text.
#ifndef CUTAP_HOST_DEFINES_H
#define CUTAP_HOST_DEFINES_H
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n) __attribute__((aligned(n)))
#define __no_return__ __attribute__((noreturn))
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDAAPI
#define CUDA_CB
#endif
