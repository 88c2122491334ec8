/*
 * What nvcc's host code calls in the runtime. NVIDIA declares these in headers that only nvcc's own
 * passes can read, so they stand here once more, and tidy: facts, in our words.
 */
#include <cuda_runtime_api.h>

/** \param fatCubin [in] what the compiler embedded */
void **__cudaRegisterFatBinary(void *fatCubin);
/** \param[in] fatCubinHandle of the registration */
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
/** \param[in] fatCubinHandle of the registration */
void __cudaUnregisterFatBinary(void **fatCubinHandle);
/** \param[in] fatCubinHandle of the registration */
char __cudaInitModule(void **fatCubinHandle);
/**
 * \param[in] fatCubinHandle of the registration
 * \param[in] deviceFun name
 * \param[in] tid unused
 * \param[in] bid unused
 * \param[in] bDim unused
 * \param[in] gDim unused
 * \param[in] wSize unused
 */
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun, const char *deviceName,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
/**
 * \param[in] fatCubinHandle of the registration
 * \param[in] hostVar address
 * \param[in] deviceAddress name
 * \param size in bytes
 */
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName, int ext,
                       size_t size, int constant, int global);
/**
 * \param[in] fatCubinHandle of the registration
 * \param[in] hostVarPtrAddress where the program keeps the address
 * \param[in] deviceAddress name
 * \param size in bytes
 */
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                              const char *deviceName, int ext, size_t size, int constant, int global);
/**
 * \param[in] fatCubinHandle of the registration
 * \param[in] hostVar address
 * \param size in bytes
 */
void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar, size_t size);
/** \param sharedMem in bytes */
unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, struct CUstream_st *stream);
/**
 * \param[out] stream of the launch
 * \param sharedMem in bytes
 */
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream);

#if CUDART_VERSION >= 12010
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entryFuncAddr);
/**
 * \param[in] args one pointer for each parameter
 * \param sharedMem in bytes
 */
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                                    cudaStream_t stream);
#elif CUDART_VERSION < 12000
/** \param[in] fatCubinHandle of the registration */
void __cudaRegisterTexture(void **fatCubinHandle, const struct textureReference *hostVar, const void **deviceAddress,
                           const char *deviceName, int dim, int norm, int ext);
/** \param[in] fatCubinHandle of the registration */
void __cudaRegisterSurface(void **fatCubinHandle, const struct surfaceReference *hostVar, const void **deviceAddress,
                           const char *deviceName, int dim, int ext);
#endif
