/* "I hook dlsym, but cuMemcpyHtoD never comes by": since 11.3 the driver's functions are asked of cuGetProcAddress, by a name without
 * its version; what is called is cuMemcpyHtoD_v2. By the header's own words: the driver is not linked. */
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

int main(void) {
    char in[4096] = "there and back", out[4096] = "";
    void *d;
    PFN_cuGetProcAddress_v12000 get;
    PFN_cuMemcpyHtoD_v3020 to_device = 0;
    PFN_cuMemcpyDtoH_v3020 to_host = 0;
    enum cudaDriverEntryPointQueryResult found;
    CUdriverProcAddressQueryResult status;
    CHECK(cudaMalloc(&d, sizeof in));
    CHECK(cudaGetDriverEntryPointByVersion("cuGetProcAddress", (void **)&get, 12000, cudaEnableDefault, &found));
    CHECK(get("cuMemcpyHtoD", (void **)&to_device, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    CHECK(get("cuMemcpyDtoH", (void **)&to_host, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    CHECK(to_device((CUdeviceptr)d, in, sizeof in));
    CHECK(to_host(out, (CUdeviceptr)d, sizeof out));
    CHECK(cudaFree(d));
    puts(out);
    return 0;
}
