/* A runtime program that checks every byte and every result: memory, copies, sets, streams, events, the program's own
 * functions in their order and on a driver thread, a kernel that is registered as a compiler does it, errors. */
#define _GNU_SOURCE
#include "cudart.h"
#include <pthread.h>
#include <unistd.h>

enum { N = 100000 };
static unsigned char in[N], out[N];

/* ---- code: PTX in a fat binary, as the compiler's wrapper holds it ---- */
static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.global .align 4 .u32 counter = 42;\n"
    ".visible .entry _Z5saxpyifPKfPf(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)\n{ ret; }\n";
#include "fatbin.h"
static void **registered;
static int counter; /* the host's shadow of the variable */
static void saxpy(void) {}

__attribute__((constructor)) static void register_code(void) {
    registered = CALL(__cudaRegisterFatBinary(fat_binary(52)));
    CALL(__cudaRegisterFunction(registered, (const char *)saxpy, "_Z5saxpyifPKfPf", "_Z5saxpyifPKfPf", -1, 0, 0, 0, 0, 0));
    CALL(__cudaRegisterVar(registered, (char *)&counter, "counter", "counter", 0, 4, 0, 0));
    CALL(__cudaRegisterFatBinaryEnd(registered));
}

static void devices(void) {
    int count = 0, driver = 0, runtime = 0, value = 0;
    OK(cudaGetDeviceCount(&count));
    TRUE(count == 1);
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    OK(cudaDeviceGetAttribute(&value, 16, 0));
    TRUE(value == 132);
    OK(cudaDeviceGetAttribute(&value, 75, 0));
    TRUE(value == 9);
    char id[32];
    OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    OK(cudaDeviceGetByPCIBusId(&value, id));
    TRUE(value == 0);
    IS(101, cudaSetDevice(7));
    IS(101, cudaGetLastError());
    printf("runtime %d on driver %d\n", runtime, driver);
}

static void memory(void) {
    void *a, *b;
    OK(cudaMalloc(&a, N));
    OK(cudaMalloc(&b, N));
    TRUE((uintptr_t)a % 256 == 0 && a != b);
    OK(cudaMemcpy(a, in, N, toDevice));
    OK(cudaMemcpy(b, a, N, onDevice));
    OK(cudaMemcpy(out, b, N, toHost));
    TRUE(!memcmp(in, out, N));
    OK(cudaMemset(b, 7, N / 2));
    OK(cudaMemcpy(out, b, N, anyWay));
    TRUE(out[0] == 7 && out[N / 2 - 1] == 7 && out[N / 2] == in[N / 2]);

    size_t pitch, free, total, left;
    void *plane;
    OK(cudaMallocPitch(&plane, &pitch, 100, 50));
    TRUE(pitch >= 100 && pitch % 32 == 0);
    OK(cudaMemset2D(plane, pitch, 1, 100, 50));
    OK(cudaMemcpy2D(plane, pitch, in, 80, 80, 40, toDevice));
    memset(out, 0, N);
    OK(cudaMemcpy2D(out, 100, plane, pitch, 100, 50, toHost));
    TRUE(!memcmp(out + 39 * 100, in + 39 * 80, 80) && out[80] == 1 && out[41 * 100] == 1);

    struct cudaMemcpy3DParms volume = {
        .srcPtr = { in, 10, 10, 10 }, .dstPtr = { a, 20, 20, 20 }, .dstPos = { 1, 2, 3 }, .extent = { 10, 10, 10 }, .kind = toDevice
    };
    OK(cudaMemset(a, 0, N));
    OK(cudaMemcpy3D(&volume));
    OK(cudaMemcpy(out, a, N, toHost));
    TRUE(!memcmp(out + 3 * 400 + 2 * 20 + 1, in, 10) && !memcmp(out + 12 * 400 + 11 * 20 + 1, in + 990, 10) && out[0] == 0);

    OK(cudaMemGetInfo(&free, &total));
    OK(cudaFree(plane));
    OK(cudaMemGetInfo(&left, &total));
    TRUE(left > free && left < total);

    struct cudaPointerAttributes what;
    OK(cudaPointerGetAttributes(&what, (char *)a + 10));
    TRUE(what.type == 2 && what.device == 0);
    void *host, *mapped;
    OK(cudaMallocHost(&host, N));
    memcpy(host, in, N);
    OK(cudaMemcpy(a, host, N, toDevice));
    OK(cudaPointerGetAttributes(&what, host));
    TRUE(what.type == 1);
    OK(cudaHostGetDevicePointer(&mapped, host, 0));
    OK(cudaFreeHost(host));
    OK(cudaHostRegister(out, N, 0));
    IS(712, cudaHostRegister(out, N, 0));
    OK(cudaHostUnregister(out));
    IS(713, cudaHostUnregister(out));
    CALL(cudaGetLastError());
    int *managed;
    OK(cudaMallocManaged((void **)&managed, 400, 1));
    managed[99] = 5;
    OK(cudaMemcpy(out, managed, 400, toHost));
    TRUE(((int *)out)[99] == 5);
    OK(cudaPointerGetAttributes(&what, managed));
    TRUE(what.type == 3);
    OK(cudaFree(managed));
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(NULL));
}

/* ---- the program's own functions: in their turn, on one thread that is not ours ---- */
static pthread_t main_thread, driver_thread;
static int turns[4], turn;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void host(void *data) {
    pthread_mutex_lock(&gate);
    turns[turn++] = *(int *)data;
    driver_thread = pthread_self();
    pthread_mutex_unlock(&gate);
}

static void callback(cudaStream_t stream, cudaError_t status, void *data) {
    int device = -1;
    TRUE(status == 0 && stream != NULL);
    OK(cudaGetDevice(&device)); /* a call of the runtime on the driver's thread */
    TRUE(device == 0);
    host(data);
}

static void order(void) {
    cudaStream_t stream, other;
    cudaEvent_t start, end, untimed;
    void *a;
    int one = 1, two = 2, three = 3, priority;
    float ms = -1;
    main_thread = pthread_self();
    OK(cudaMalloc(&a, N));
    OK(cudaStreamCreateWithPriority(&other, 1, -1)); /* made first, so that it is not behind by chance */
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamGetPriority(other, &priority));
    TRUE(priority == -1);
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&untimed, 2));
    IS(400, cudaEventElapsedTime(&ms, start, end));
    CALL(cudaGetLastError());

    OK(cudaEventRecord(start, stream));
    pthread_mutex_lock(&gate); /* the first function cannot get on, so all behind it must wait */
    OK(cudaLaunchHostFunc(stream, host, &one));
    OK(cudaMemsetAsync(a, 9, N, stream));
    OK(cudaStreamAddCallback(stream, callback, &two, 0));
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamWaitEvent(other, end, 0));
    OK(cudaLaunchHostFunc(other, host, &three));
    IS(600, cudaStreamQuery(stream));
    IS(600, cudaEventQuery(end));
    IS(600, cudaStreamQuery(other));
    IS(600, cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventQuery(start));
    usleep(20000);
    TRUE(turn == 0);
    pthread_mutex_unlock(&gate);
    OK(cudaStreamSynchronize(other));
    TRUE(turn == 3 && turns[0] == 1 && turns[1] == 2 && turns[2] == 3);
    TRUE(!pthread_equal(driver_thread, main_thread));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    TRUE(ms >= 20 && ms < 10000);
    OK(cudaMemcpy(out, a, N, toHost));
    TRUE(out[0] == 9 && out[N - 1] == 9);
    CALL(cudaGetLastError());

    /* the legacy stream waits for the others */
    turn = 0;
    pthread_mutex_lock(&gate);
    OK(cudaLaunchHostFunc(stream, host, &one));
    IS(0, cudaMemsetAsync(a, 3, N, NULL));
    IS(600, cudaStreamQuery(NULL));
    pthread_mutex_unlock(&gate);
    OK(cudaMemcpy(out, a, N, toHost));
    TRUE(turn == 1 && out[5] == 3);
    CALL(cudaGetLastError());

    void *later;
    OK(cudaMallocAsync(&later, N, stream));
    OK(cudaMemcpyAsync(later, in, N, toDevice, stream));
    OK(cudaMemcpyAsync(out, later, N, toHost, stream));
    OK(cudaFreeAsync(later, stream));
    OK(cudaStreamSynchronize(stream));
    TRUE(!memcmp(in, out, N));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(untimed));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(a));
}

static void kernels(void) {
    float a = 2, *x = NULL, *y = NULL;
    int n = 10, blocks = 0, value = 0;
    void *arguments[] = { &n, &a, &x, &y };
    dim3 one = { 1, 1, 1 }, block = { 256, 1, 1 }, big = { 2048, 1, 1 };
    OK(cudaLaunchKernel((void *)saxpy, one, block, arguments, 0, NULL));
    OK(cudaDeviceSynchronize());
    struct cudaFuncAttributes_head attributes = { 0 };
    OK(cudaFuncGetAttributes(&attributes, (void *)saxpy));
    TRUE(attributes.max_threads == 1024);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (void *)saxpy, 256, 0));
    TRUE(blocks == 8);
    OK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, toHost));
    TRUE(value == 42);
    value = 43;
    OK(cudaMemcpyToSymbol(&counter, &value, 4, 0, toDevice));
    value = 0;
    OK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, toHost));
    TRUE(value == 43);
    TRUE(CALL(cudaLaunchKernel((void *)saxpy, one, big, arguments, 0, NULL)) != 0);
    /* no such kernel; runtimes from 12.9 on ask the driver whether it is a handle of its own */
    int unknown = CALL(cudaLaunchKernel((void *)kernels, one, block, arguments, 0, NULL));
    TRUE(unknown == 98 || unknown == 400);
    CALL(cudaGetLastError());
}

static void errors(void) {
    void *a;
    char byte = 0;
    IS(1, cudaMalloc(NULL, 10));
    IS(2, cudaMalloc(&a, (size_t)1 << 50));
    IS(2, cudaGetLastError());
    IS(1, cudaFree(&byte));
    IS(1, cudaGetLastError());
    OK(cudaMalloc(&a, 100));
    IS(1, cudaMemcpy(a, in, 5000, toDevice));
    IS(1, cudaMemset(a, 0, 5000));
    IS(1, cudaMemset((char *)a + 50, 0, 51));
    OK(cudaMemset((char *)a + 50, 0, 50));
    OK(cudaFree(a));
    IS(1, cudaMemset(a, 0, 100));
    CALL(cudaGetLastError());
    OK(cudaGetLastError());
}

int main(void) {
    for (int i = 0; i < N; i++) in[i] = i * 7 + i / 256;
    devices();
    memory();
    order();
    kernels();
    errors();
    OK(cudaDeviceReset());
    memory(); /* after a reset it all begins again */
    kernels();
    CALL(__cudaUnregisterFatBinary(registered));
    puts("all is well");
    return 0;
}
