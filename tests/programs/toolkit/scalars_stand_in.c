/* In the place of libcublas, libcublasLt, libcusparse, libnccl and libnvJitLink: handles, and functions that take scalars and attributes. They look at nothing
 * on the device; the scalars of the host are checked. */
#include <stdlib.h>
#include "scalars.h"

#ifdef CUBLAS
struct cublasContext { int mode; };
int cublasCreate_v2(cublasHandle_t *handle) { *handle = calloc(1, sizeof **handle); return 0; }
int cublasDestroy_v2(cublasHandle_t handle) { free(handle); return 0; }
int cublasSetPointerMode_v2(cublasHandle_t handle, int mode) { handle->mode = mode; return 0; }
int cublasSetMathMode(cublasHandle_t handle, int mode) { (void)mode; return handle ? 0 : 1; }
int cublasSscal_v2(cublasHandle_t handle, int n, const float *alpha, float *x, int incx) {
    (void)n, (void)x, (void)incx;
    return handle->mode == 0 && *alpha != 2.5f;
}
int cublasDdot_v2(cublasHandle_t handle, int n, const double *x, int incx, const double *y, int incy, double *result) {
    (void)n, (void)x, (void)incx, (void)y, (void)incy;
    if (handle->mode == 0) *result = 7;
    return 0;
}
/* The interface of before 4.0 returns numbers. */
float cublasSdot(int n, const float *x, int incx, const float *y, int incy) { (void)n, (void)x, (void)incx, (void)y, (void)incy; return 1.5f; }
double cublasDnrm2(int n, const double *x, int incx) { (void)n, (void)x, (void)incx; return -0.25; }
struct complex_float cublasCdotu(int n, const void *x, int incx, const void *y, int incy) {
    (void)n, (void)x, (void)incx, (void)y, (void)incy;
    return (struct complex_float){2, -3};
}
struct complex_double cublasZdotc(int n, const void *x, int incx, const void *y, int incy) {
    (void)n, (void)x, (void)incx, (void)y, (void)incy;
    return (struct complex_double){4.5, -6};
}
int cublasScalEx(cublasHandle_t handle, int n, const void *alpha, int alphaType, void *x, int xType, int incx, int executionType) {
    (void)n, (void)alphaType, (void)x, (void)xType, (void)incx, (void)executionType;
    return handle->mode == 0 && *(const double *)alpha != 3;
}
#endif

#ifdef CUBLASLT
int cublasLtMatmulDescCreate(void **desc, int compute, int scale) { (void)compute, (void)scale; *desc = malloc(64); return 0; }
int cublasLtMatmulDescDestroy(void *desc) { free(desc); return 0; }
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *buf, size_t size) {
    (void)desc, (void)attribute, (void)buf;
    return size < 4;
}
int cublasLtMatmulDescGetAttribute(void *desc, int attribute, void *buf, size_t size, size_t *written) {
    (void)desc, (void)attribute, (void)buf;
    *written = size;
    return 0;
}
int cublasLtMatmulAlgoCapGetAttribute(const void *algo, int attribute, void *buf, size_t size, size_t *written) {
    (void)algo, (void)attribute, (void)size;
    for (int n = 0; n < 3; n++) ((int *)buf)[n] = 1 + n;
    *written = 12;
    return 0;
}
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *A, void *a, const void *B, void *b, const void *beta,
    const void *C, void *c, void *D, void *d, const void *algo, void *workspace, size_t bytes, void *stream) {
    (void)handle, (void)desc, (void)alpha, (void)A, (void)a, (void)B, (void)b, (void)beta;
    (void)C, (void)c, (void)D, (void)d, (void)algo, (void)workspace, (void)bytes, (void)stream;
    return 0;
}
#endif

#ifdef NCCL
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream) {
    (void)send, (void)recv, (void)count, (void)type, (void)op, (void)comm, (void)stream;
    return 0;
}
int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream) {
    return ncclAllReduce(send, recv, count, type, op, comm, stream);
}
int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream) {
    return ncclAllReduce(send, recv, count, type, 0, comm, stream);
}
int ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, void *stream) {
    return ncclAllReduce(send, recv, count, type, 0, comm, stream);
}
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream) {
    return ncclAllReduce(send, recv, count, type, root, comm, stream);
}
int ncclGather(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream) {
    return ncclAllReduce(send, recv, count, type, root, comm, stream);
}
int ncclScatter(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream) {
    return ncclAllReduce(send, recv, count, type, root, comm, stream);
}
int ncclGetVersion(int *version) { *version = 23203; return 0; }
int ncclGetUniqueId(ncclUniqueId *id) {
    for (int n = 0; n < 128; n++) id->internal[n] = n < 20 ? 200 + n : 0;
    return 0;
}
int ncclCommInitRank(void **comm, int ranks, ncclUniqueId id, int rank) {
    (void)ranks, (void)rank;
    *comm = malloc(64);
    return id.internal[3] != (char)203;
}
int ncclCommInitAll(void **comm, int devices, const int *list) {
    (void)list;
    for (int n = 0; n < devices; n++) comm[n] = malloc(64);
    return 0;
}
int ncclCommSplit(void *comm, int color, int key, void **split, void *config) {
    (void)comm, (void)color, (void)key, (void)config;
    *split = malloc(64);
    return 0;
}
int ncclCommCount(void *comm, int *count) { *count = 2; return comm ? 0 : 1; }
int ncclCommDestroy(void *comm) { free(comm); return 0; }
#endif

#ifdef NVJITLINK
int nvJitLinkCreate(void **handle, unsigned count, const char **options) { (void)options; *handle = malloc(64); return count != 1; }
int nvJitLinkAddData(void *handle, int type, const void *data, size_t size, const char *name) {
    (void)handle, (void)type, (void)data, (void)size, (void)name;
    return 0;
}
int nvJitLinkDestroy(void **handle) { free(*handle); *handle = 0; return 0; }
#endif

#ifdef CUSPARSE
int cusparseCreate(void **handle) { *handle = malloc(64); return 0; }
int cusparseDestroy(void *handle) { free(handle); return 0; }
int cusparseSetPointerMode(void *handle, int mode) { (void)handle, (void)mode; return 0; }
int cusparseCreateDnVec(void **vector, long size, void *values, int type) {
    (void)size, (void)values, (void)type;
    *vector = malloc(64);
    return 0;
}
int cusparseAxpby(void *handle, const void *alpha, void *x, const void *beta, void *y) {
    (void)handle, (void)alpha, (void)x, (void)beta, (void)y;
    return 0;
}
#endif
