/* Last errors behind answers and behind queries of a stream that is busy, and the functions that return no error code. */
#include "../../runtimes/cudart.h"
#include <unistd.h>

struct cudaChannelFormatDesc { int x, y, z, w, f; };
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaEventQuery(cudaEvent_t);
const char *cudaGetErrorString(cudaError_t);
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f);

static volatile int over;
static void wait(void *unused) {
    (void)unused;
    while (!over) usleep(100);
}
static void last(const char *what, int code) {
    int peek = cudaPeekAtLastError(), last = cudaGetLastError(), none = cudaGetLastError();
    printf(" %s %d: last %d, %d, then %d\n", what, code, peek, last, none);
}
int main(void) {
    void *p = (void *)1;
    cudaStream_t stream = 0;
    cudaEvent_t event = 0;
    setvbuf(stdout, 0, _IONBF, 0);
    if (cudaStreamCreate(&stream) || cudaEventCreate(&event) || cudaLaunchHostFunc(stream, wait, 0) || cudaEventRecord(event, stream))
        return 1;
    last("stream", cudaStreamQuery(stream));
    last("event", cudaEventQuery(event));
    int code = cudaMalloc(&p, 13);
    cudaStreamQuery(stream);
    last("13 bytes", code);
    code = cudaMalloc(&p, 1ull << 50);
    cudaEventQuery(event);
    last("too many", code);
    over = 1;
    struct cudaChannelFormatDesc d = cudaCreateChannelDesc(1, 2, 3, 4, 0);
    printf(" %s, %s, %d %d %d %d\n", cudaGetErrorName(2), cudaGetErrorString(2), d.x, d.y, d.z, d.w);
    return 0;
}
