/* Two devices: current device by thread, copies between them, peer access. */
#include "cudart.h"

int main(void) {
    int count, yes, device;
    char in[1000], out[1000], first[32], second[32];
    void *a, *b;
    for (int i = 0; i < 1000; i++) in[i] = i;
    OK(cudaGetDeviceCount(&count));
    TRUE(count == 2);
    OK(cudaDeviceGetPCIBusId(first, 32, 0));
    OK(cudaDeviceGetPCIBusId(second, 32, 1));
    TRUE(strcmp(first, second));
    OK(cudaDeviceGetByPCIBusId(&device, second));
    TRUE(device == 1);
    OK(cudaMalloc(&a, 1000));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&b, 1000));
    struct cudaPointerAttributes what;
    OK(cudaPointerGetAttributes(&what, a));
    TRUE(what.device == 0);
    OK(cudaPointerGetAttributes(&what, b));
    TRUE(what.device == 1);
    OK(cudaDeviceCanAccessPeer(&yes, 0, 1));
    TRUE(yes == 1);
    OK(cudaDeviceCanAccessPeer(&yes, 1, 1));
    TRUE(yes == 0);
    OK(cudaDeviceEnablePeerAccess(0, 0));
    IS(704, cudaDeviceEnablePeerAccess(0, 0));
    cudaGetLastError();
    OK(cudaMemcpy(a, in, 1000, toDevice));
    OK(cudaMemcpyPeer(b, 1, a, 0, 1000));
    OK(cudaMemcpy(out, b, 1000, toHost));
    TRUE(!memcmp(in, out, 1000));
    OK(cudaFree(a));
    OK(cudaFree(b));
    puts("all is well");
    return 0;
}
