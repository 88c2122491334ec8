/* Threads that make and end memory, streams and events, so that the driver gives one thread what another is just ending; of each kind
 * every tenth is kept. What goes wrong: the end of a call ends what was made meanwhile, and what is in use is called freed. */
#include "cudart.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 1500 };

static void *thread(void *unused) {
    for (int n = 0; n < ROUNDS; n++) {
        void *memory;
        cudaStream_t stream;
        cudaEvent_t event;
        OK(cudaMalloc(&memory, 4096));
        OK(cudaMemset(memory, 0, 4096));
        if (n % 10) OK(cudaFree(memory));
        OK(cudaEventCreate(&event));
        OK(cudaEventQuery(event));
        if (n % 10) OK(cudaEventDestroy(event));
        if (n % 10 == 0) OK(cudaStreamCreate(&stream));
        if (n % 100 != 0) continue;
        OK(cudaStreamSynchronize(stream));
        OK(cudaStreamDestroy(stream));
    }
    return unused;
}
int main(void) {
    pthread_t threads[THREADS];
    OK(cudaFree(0));
    for (int n = 0; n < THREADS; n++) pthread_create(&threads[n], 0, thread, 0);
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], 0);
    int kept = THREADS * ROUNDS / 10;
    printf("memory %d, events %d, streams %d\n", kept, kept, kept - kept / 10);
    return 0;
}
