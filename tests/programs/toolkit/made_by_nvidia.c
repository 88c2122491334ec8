/* cuBLASLt, cuSPARSE and cuDNN as NVIDIA makes them, with its own headers: scalars on the host and on the device, attributes of
 * descriptors, and cuDNN's backend, whose descriptors have nothing but attributes. */
/* Halves are not used here, and their headers need libcu++, which those wheels do not have. */
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
typedef struct { unsigned short x; } __half, __nv_bfloat16;
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <cusparse.h>
#include <stdint.h>
#include <stdio.h>

static int light(void *memory) {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout;
    cublasLtMatmulPreference_t preference;
    float one = 1, half = 0.5f;
    int32_t mode = CUBLASLT_POINTER_MODE_DEVICE, transposed = CUBLAS_OP_T;
    uint64_t room = 1 << 20;
    size_t written;
    int failed = cublasLtCreate(&handle) | cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    failed |= cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 16, 16, 16);
    failed |= cublasLtMatmulPreferenceCreate(&preference);
    failed |= cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
    failed |= cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    failed |= cublasLtMatmul(handle, desc, &one, memory, layout, memory, layout, &half, memory, layout, memory, layout, 0, 0, 0, 0);
    failed |= cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof mode);
    failed |= cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof mode, &written);
    failed |= cublasLtMatmul(handle, desc, memory, memory, layout, memory, layout, (float *)memory + 1, memory, layout, memory, layout, 0, 0, 0, 0);
    failed |= cublasLtMatmulPreferenceDestroy(preference) | cublasLtMatrixLayoutDestroy(layout);
    return failed | cublasLtMatmulDescDestroy(desc) | cublasLtDestroy(handle);
}

static int sparse(void *memory) {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t x, y;
    cusparsePointerMode_t mode;
    int *rows = memory, *columns = rows + 5;
    float one = 1, half = 0.5f, *values = (float *)memory + 16;
    size_t bytes = 0;
    void *room;
    int failed = cusparseCreate(&handle);
    failed |= cusparseCreateCsr(&matrix, 4, 4, 4, rows, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    failed |= cusparseCreateDnVec(&x, 4, values + 16, CUDA_R_32F) | cusparseCreateDnVec(&y, 4, values + 32, CUDA_R_32F);
    failed |= cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x, &half, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG1, &bytes);
    failed |= cudaMalloc(&room, bytes + 1);
    failed |= cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x, &half, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG1, room);
    failed |= cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE) | cusparseGetPointerMode(handle, &mode);
    failed |= cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, values, matrix, x, values + 1, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG1, room);
    return failed | cusparseDestroyDnVec(x) | cusparseDestroyDnVec(y) | cusparseDestroySpMat(matrix) | cusparseDestroy(handle);
}

static cudnnBackendDescriptor_t tensor(int64_t name, const int64_t *sizes, const int64_t *steps, int *failed) {
    cudnnBackendDescriptor_t made;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    int64_t aligned = 16;
    *failed |= cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &made);
    *failed |= cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    *failed |= cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes);
    *failed |= cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, steps);
    *failed |= cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &name);
    *failed |= cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &aligned);
    *failed |= cudnnBackendFinalize(made);
    return made;
}

static int networks(void) {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t relu, operation, graph, x, y;
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_RELU_FWD;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    double low = 0, high = 6;
    int64_t sizes[4] = {1, 8, 4, 4}, steps[4] = {128, 16, 4, 1}, found[4], count = 0;
    int failed = cudnnCreate(&handle);
    x = tensor('x', sizes, steps, &failed), y = tensor('y', sizes, steps, &failed);
    failed |= cudnnBackendGetAttribute(x, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, &count, found);
    failed |= count != 4 || found[1] != 8;
    failed |= cudnnBackendCreateDescriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &relu);
    failed |= cudnnBackendSetAttribute(relu, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    failed |= cudnnBackendSetAttribute(relu, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
    failed |= cudnnBackendSetAttribute(relu, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1, &low);
    failed |= cudnnBackendSetAttribute(relu, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, &high);
    failed |= cudnnBackendFinalize(relu);
    failed |= cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &operation);
    failed |= cudnnBackendSetAttribute(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &relu);
    failed |= cudnnBackendSetAttribute(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
    failed |= cudnnBackendSetAttribute(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    failed |= cudnnBackendFinalize(operation);
    failed |= cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph);
    failed |= cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation);
    failed |= cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    failed |= cudnnBackendFinalize(graph);
    failed |= cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) == 0;
    cudnnBackendDescriptor_t all[] = {graph, operation, relu, x, y};
    for (int i = 0; i < 5; i++) failed |= cudnnBackendDestroyDescriptor(all[i]);
    return failed | cudnnDestroy(handle);
}

int main(void) {
    void *memory;
    int failed = cudaMalloc(&memory, 1 << 16) | cudaMemset(memory, 0, 1 << 16);
    int of[] = {light(memory), sparse(memory), networks()};
    printf("%d %d %d %d\n", failed, of[0], of[1], of[2]);
    return 0;
}
