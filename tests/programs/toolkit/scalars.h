/* Some of cuBLAS, cuBLASLt, cuSPARSE, NCCL and nvJitLink (by its plain names), as their headers declare it; types that are of no matter here are void. */
#include <stddef.h>

typedef struct cublasContext *cublasHandle_t;
int cublasCreate_v2(cublasHandle_t *handle);
int cublasDestroy_v2(cublasHandle_t handle);
int cublasSetPointerMode_v2(cublasHandle_t handle, int mode);
int cublasSetMathMode(cublasHandle_t handle, int mode);
int cublasSscal_v2(cublasHandle_t handle, int n, const float *alpha, float *x, int incx);
int cublasDdot_v2(cublasHandle_t handle, int n, const double *x, int incx, const double *y, int incy, double *result);
struct complex_float { float x, y; };
struct complex_double { double x, y; };
float cublasSdot(int n, const float *x, int incx, const float *y, int incy);
double cublasDnrm2(int n, const double *x, int incx);
struct complex_float cublasCdotu(int n, const void *x, int incx, const void *y, int incy);
struct complex_double cublasZdotc(int n, const void *x, int incx, const void *y, int incy);
int cublasScalEx(cublasHandle_t handle, int n, const void *alpha, int alphaType, void *x, int xType, int incx, int executionType);

int cublasLtMatmulDescCreate(void **desc, int compute, int scale);
int cublasLtMatmulDescDestroy(void *desc);
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *buf, size_t size);
int cublasLtMatmulDescGetAttribute(void *desc, int attribute, void *buf, size_t size, size_t *written);
int cublasLtMatmulAlgoCapGetAttribute(const void *algo, int attribute, void *buf, size_t size, size_t *written);
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *A, void *a, const void *B, void *b, const void *beta,
    const void *C, void *c, void *D, void *d, const void *algo, void *workspace, size_t bytes, void *stream);

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream);
int ncclGather(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream);
int ncclScatter(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream);
typedef struct { char internal[128]; } ncclUniqueId;
int ncclGetVersion(int *version);
int ncclGetUniqueId(ncclUniqueId *id);
int ncclCommInitRank(void **comm, int ranks, ncclUniqueId id, int rank);
int ncclCommInitAll(void **comm, int devices, const int *list);
int ncclCommSplit(void *comm, int color, int key, void **split, void *config);
int ncclCommCount(void *comm, int *count);
int ncclCommDestroy(void *comm);

int nvJitLinkCreate(void **handle, unsigned count, const char **options);
int nvJitLinkAddData(void *handle, int type, const void *data, size_t size, const char *name);
int nvJitLinkDestroy(void **handle);

int cusparseCreate(void **handle);
int cusparseDestroy(void *handle);
int cusparseSetPointerMode(void *handle, int mode);
int cusparseCreateDnVec(void **vector, long size, void *values, int type);
int cusparseAxpby(void *handle, const void *alpha, void *x, const void *beta, void *y);
