/* Leaves things behind, fails, and waits: what `cutap report` is to say of it is in golden/report.txt. What goes wrong: a thing that was
 * freed is called left, one that two layers made counts twice, an error or a wait has no call around it. */
#include "cudart.h"

int main(void) {
    void *kept, *freed, *host, *managed;
    cudaStream_t stream, gone;
    cudaEvent_t events[3];
    char bytes[64] = { 0 };

    for (int n = 0; n < 3; n++) OK(cudaMalloc(&kept, 4096)); /* left, three times */
    OK(cudaMalloc(&freed, 1 << 20));
    OK(cudaMemcpy(freed, bytes, sizeof bytes, 1 /* host to device */));
    OK(cudaMemcpy(bytes, freed, sizeof bytes, 2));
    OK(cudaFree(freed));
    OK(cudaMallocHost(&host, 8192)); /* left */
    OK(cudaMallocManaged(&managed, 512, 1));
    OK(cudaFree(managed));

    OK(cudaStreamCreate(&stream)); /* left */
    OK(cudaStreamCreate(&gone));
    for (int n = 0; n < 3; n++) OK(cudaEventCreate(&events[n])); /* two of them left */
    OK(cudaEventRecord(events[0], stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventSynchronize(events[0]));
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(events[1]));
    OK(cudaStreamDestroy(gone));

    for (int n = 0; n < 2; n++) TRUE(cudaMalloc(&freed, 1ull << 60) == 2);
    TRUE(cudaSetDevice(77) == 101);
    cudaGetLastError();
    puts("all is well");
    return 0;
}
