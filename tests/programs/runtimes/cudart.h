/* The part of the runtime's interface that the test programs use, the same in every version 11.7 to 13.5.
 * The wheels' own headers need files of the compiler's wheel, so the prototypes are written out. */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
typedef struct stream *cudaStream_t;
typedef struct event *cudaEvent_t;
typedef struct { unsigned x, y, z; } dim3;
enum { toHost = 2, toDevice = 1, onDevice = 3, anyWay = 4 };

struct cudaFuncAttributes_head { size_t shared, constant, local; int max_threads, registers, ptx, binary; int rest[256]; };
struct cudaPointerAttributes { int type, device; void *device_pointer, *host_pointer; long reserved[8]; };
struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaMemcpy3DParms {
    void *srcArray; struct cudaPos srcPos; struct cudaPitchedPtr srcPtr;
    void *dstArray; struct cudaPos dstPos; struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent; int kind;
};

cudaError_t cudaGetDeviceCount(int *);
cudaError_t cudaGetDevice(int *);
cudaError_t cudaSetDevice(int);
cudaError_t cudaDeviceGetAttribute(int *, int, int);
cudaError_t cudaDeviceGetPCIBusId(char *, int, int);
cudaError_t cudaDeviceGetByPCIBusId(int *, const char *);
cudaError_t cudaDeviceCanAccessPeer(int *, int, int);
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDriverGetVersion(int *);
cudaError_t cudaRuntimeGetVersion(int *);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorName(cudaError_t);
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaMallocPitch(void **, size_t *, size_t, size_t);
cudaError_t cudaMallocHost(void **, size_t);
cudaError_t cudaHostAlloc(void **, size_t, unsigned);
cudaError_t cudaHostRegister(void *, size_t, unsigned);
cudaError_t cudaHostUnregister(void *);
cudaError_t cudaHostGetDevicePointer(void **, void *, unsigned);
cudaError_t cudaFreeHost(void *);
cudaError_t cudaMallocManaged(void **, size_t, unsigned);
cudaError_t cudaMallocAsync(void **, size_t, cudaStream_t);
cudaError_t cudaFreeAsync(void *, cudaStream_t);
cudaError_t cudaFree(void *);
cudaError_t cudaMemGetInfo(size_t *, size_t *);
cudaError_t cudaMemcpy(void *, const void *, size_t, int);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, int, cudaStream_t);
cudaError_t cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *);
cudaError_t cudaMemcpyPeer(void *, int, const void *, int, size_t);
cudaError_t cudaMemset(void *, int, size_t);
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t);
cudaError_t cudaMemset2D(void *, size_t, int, size_t, size_t);
cudaError_t cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
cudaError_t cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *, const void *);
cudaError_t cudaStreamCreate(cudaStream_t *);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *, unsigned, int);
cudaError_t cudaStreamGetPriority(cudaStream_t, int *);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaStreamAddCallback(cudaStream_t, void (*)(cudaStream_t, cudaError_t, void *), void *, unsigned);
cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*)(void *), void *);
cudaError_t cudaEventCreate(cudaEvent_t *);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t cudaFuncGetAttributes(void *, const void *);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
cudaError_t cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);
cudaError_t cudaLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
cudaError_t cudaLibraryGetKernel(void **, void *, const char *);
cudaError_t cudaFuncGetName(const char **, const void *);
cudaError_t cudaLibraryUnload(void *);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
void __cudaUnregisterFatBinary(void **);

/* Every call is counted by its name. CALLS=FILE gets a line "name count" for each at the end: what a trace must show. */
static struct { char name[64]; unsigned count; } calls_[128];
static atomic_flag counting_ = ATOMIC_FLAG_INIT; /* some calls are made on a thread of the driver */
static void write_calls_(void) {
    FILE *file = getenv("CALLS") ? fopen(getenv("CALLS"), "w") : NULL;
    for (int i = 0; file && calls_[i].count; i++) fprintf(file, "%s %u\n", calls_[i].name, calls_[i].count);
    if (file) fclose(file);
}
static int count_(const char *text) {
    size_t length = strcspn(text, "("), i = 0;
    while (atomic_flag_test_and_set(&counting_)) {}
    if (!calls_[0].count) atexit(write_calls_);
    while (calls_[i].count && (strlen(calls_[i].name) != length || memcmp(calls_[i].name, text, length))) i++;
    memcpy(calls_[i].name, text, length);
    calls_[i].count++;
    atomic_flag_clear(&counting_);
    return 0;
}
#define CALL(call) (count_(#call), call)

/* The first thing that is not as it should be ends the program with its line. */
#define IS(expected, call) do { count_(#call); int is_ = (call); if (is_ != (expected)) { \
    fprintf(stderr, "%s:%d: %s = %d (%s), expected %d\n", __FILE__, __LINE__, #call, is_, cudaGetErrorName(is_), expected); \
    exit(1); } } while (0)
#define OK(call) IS(0, call)
#define TRUE(what) do { if (!(what)) { fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); exit(1); } } while (0)
