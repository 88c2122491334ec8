/* A host function calls the runtime on the driver's own thread, three deep: what a hook answers there, each thread's last error is its own. */
#include "../../runtimes/cudart.h"
#include <pthread.h>

static pthread_t main_thread;
static int left = 3, wrong, same;

static void deeper(void *stream) {
    void *p = (void *)7;
    same += pthread_equal(pthread_self(), main_thread) != 0;
    wrong += cudaMalloc(&p, 13) != 2 || p != (void *)7;
    wrong += cudaGetLastError() != 2 || cudaGetLastError() != 0;
    wrong += cudaMalloc(&p, 64) != 0 || cudaGetLastError() != 0;
    if (--left) wrong += cudaLaunchHostFunc(stream, deeper, stream) != 0;
}
int main(void) {
    void *p;
    main_thread = pthread_self();
    int code = cudaMalloc(&p, 13);
    wrong += cudaLaunchHostFunc(0, deeper, 0) != 0;
    for (int n = 0; n < 3; n++) wrong += cudaStreamSynchronize(0) != 0;
    printf("%d, left %d, wrong %d, same thread %d\n", code, left, wrong, same);
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
