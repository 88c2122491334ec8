/* A callback that calls CUDA from a thread of the driver's own. Main waits, so that the order is one. */
//: exe host_callback -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

static int go, done;
static pthread_t on;

static void callback(void *data) {
    CUdeviceptr p;
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) usleep(100);
    on = pthread_self();
    CHECK(cuMemAlloc_v2(&p, (size_t)data) == 0 && cuMemFree_v2(p) == 0);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}
int main(void) {
    CHECK(cuInit(0) == 0);
    CHECK(cuLaunchHostFunc(0, callback, (void *)64) == 0);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) usleep(100);
    CHECK(cuStreamSynchronize(0) == 0 && !pthread_equal(on, pthread_self()));
    puts("ok");
}
