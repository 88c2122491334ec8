/* Scalars on the host and on a device, as handles and descriptors say: those on a device are addresses, although the simulated device's
 * memory could be read. Attributes in fewer bytes than they have, in as many, and in more. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include "scalars.h"

enum { SCALE_TYPE = 1, POINTER_MODE = 2, EPILOGUE = 7, BIAS_POINTER = 8, TILE_IDS = 6, FLOAT = 0, DOUBLE = 1, COMPUTE_32F = 68 };

static int blas(void *memory) {
    cublasHandle_t handle;
    float two = 2.5f;
    double three = 3, result = 0;
    int failed = cublasCreate_v2(&handle) | cublasSetMathMode(handle, 16) | cublasSetMathMode(handle, 19);
    failed |= cublasSscal_v2(handle, 16, &two, memory, 1) | cublasDdot_v2(handle, 8, memory, 1, memory, 1, &result);
    failed |= cublasScalEx(handle, 16, &three, DOUBLE, memory, DOUBLE, 1, DOUBLE) | cublasSetPointerMode_v2(handle, 1);
    failed |= cublasSscal_v2(handle, 16, memory, memory, 1) | cublasDdot_v2(handle, 8, memory, 1, memory, 1, (double *)memory + 4);
    failed |= cublasScalEx(handle, 16, memory, DOUBLE, memory, DOUBLE, 1, DOUBLE) | cublasSetPointerMode_v2(handle, 0);
    failed |= cublasSdot(8, memory, 1, memory, 1) != 1.5f || cublasDnrm2(8, memory, 1) != -0.25;
    failed |= cublasCdotu(8, memory, 1, memory, 1).y != -3 || cublasZdotc(8, memory, 1, memory, 1).y != -6;
    failed |= cublasSscal_v2(handle, 16, &two, memory, 1) | cublasDestroy_v2(handle);
    return failed;
}

static int light(void *memory) {
    void *desc;
    float one = 1, half = 0.5f;
    double two = 2;
    int32_t mode = 1, type = DOUBLE, epilogue[2] = {4, 0};
    size_t written;
    int failed = cublasLtMatmulDescCreate(&desc, COMPUTE_32F, FLOAT);
    failed |= cublasLtMatmul(0, desc, &one, memory, 0, memory, 0, &half, memory, 0, memory, 0, 0, 0, 0, 0);
    failed |= cublasLtMatmulDescSetAttribute(desc, POINTER_MODE, &mode, 2) != 1;
    failed |= cublasLtMatmul(0, desc, &one, memory, 0, memory, 0, &half, memory, 0, memory, 0, 0, 0, 0, 0);
    failed |= cublasLtMatmulDescSetAttribute(desc, POINTER_MODE, &mode, 4);
    failed |= cublasLtMatmul(0, desc, memory, memory, 0, memory, 0, memory, memory, 0, memory, 0, 0, 0, 0, 0);
    mode = 4;
    failed |= cublasLtMatmulDescSetAttribute(desc, POINTER_MODE, &mode, 4);
    failed |= cublasLtMatmul(0, desc, memory, memory, 0, memory, 0, &half, memory, 0, memory, 0, 0, 0, 0, 0);
    mode = 0;
    failed |= cublasLtMatmulDescSetAttribute(desc, POINTER_MODE, &mode, 4) | cublasLtMatmulDescSetAttribute(desc, SCALE_TYPE, &type, 4);
    failed |= cublasLtMatmul(0, desc, &two, memory, 0, memory, 0, &two, memory, 0, memory, 0, 0, 0, 0, 0);
    failed |= cublasLtMatmulDescSetAttribute(desc, EPILOGUE, epilogue, 4) | cublasLtMatmulDescSetAttribute(desc, BIAS_POINTER, &memory, 8);
    failed |= cublasLtMatmulDescGetAttribute(desc, EPILOGUE, epilogue, 4, &written) | cublasLtMatmulDescGetAttribute(desc, EPILOGUE, 0, 0, &written);
    uint64_t algorithm[8] = {7};
    int tiles[16];
    failed |= cublasLtMatmulAlgoCapGetAttribute(algorithm, TILE_IDS, tiles, sizeof tiles, &written);
    return failed | cublasLtMatmulDescDestroy(desc);
}

static int sparse(void *memory) {
    void *handle, *vector;
    float one = 1, half = 0.5f;
    int failed = cusparseCreate(&handle) | cusparseCreateDnVec(&vector, 16, memory, FLOAT);
    failed |= cusparseAxpby(handle, &one, vector, &half, vector) | cusparseSetPointerMode(handle, 1);
    return failed | cusparseAxpby(handle, memory, vector, (float *)memory + 1, vector) | cusparseDestroy(handle);
}

/* As many elements of this type; what is as many for each rank is told by the communicator, if the call that made it was seen. */
static int transfers(char *memory) {
    enum { BF16 = 9, INT64 = 4, INT8 = 0 };
    ncclUniqueId id;
    void *comm, *all[2];
    int version, count, failed = ncclGetVersion(&version) | ncclGetUniqueId(&id);
    failed |= ncclAllReduce(memory, memory + 2048, 1000, BF16, 0, 0, 0) | ncclReduceScatter(memory, memory + 2048, 300, INT64, 2, 0, 0);
    failed |= ncclCommInitRank(&comm, 4, id, 1) | ncclAllGather(memory, memory + 512, 128, INT8, comm, 0);
    failed |= ncclReduceScatter(memory, memory + 2048, 32, INT64, 2, comm, 0) | ncclAlltoAll(memory, memory, 8, BF16, comm, 0);
    failed |= ncclGather(memory, memory + 2048, 16, BF16, 0, comm, 0) | ncclScatter(memory, memory + 2048, 16, BF16, 0, comm, 0);
    failed |= ncclBroadcast(memory, memory, 100, BF16, 0, comm, 0) | ncclCommDestroy(comm);
    failed |= ncclCommInitAll(all, 2, 0) | ncclAllGather(memory, memory + 512, 128, INT8, all[1], 0);
    failed |= ncclCommSplit(all[0], 0, 0, &comm, 0) | ncclAllGather(memory, memory + 512, 128, INT8, comm, 0);
    return failed | ncclCommCount(comm, &count) | ncclAllGather(memory, memory + 512, 128, INT8, comm, 0);
}

static int linker(void) {
    enum { PTX = 2 };
    void *handle;
    const char *options[] = {"-arch=sm_90"};
    static const char ptx[] = ".version 8.0";
    return nvJitLinkCreate(&handle, 1, options) | nvJitLinkAddData(handle, PTX, ptx, sizeof ptx, "one") | nvJitLinkDestroy(&handle);
}

int main(void) {
    void *memory;
    int failed = cudaMalloc(&memory, 4096);
    puts(failed || blas(memory) || light(memory) || sparse(memory) || transfers(memory) || linker() ? "wrong" : "done");
    return 0;
}
