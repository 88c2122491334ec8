/* "Which calls does cublasCreate make?" ltrace shows one line. The runtime inside libcublas is linked in, and the driver is asked of
 * cuGetProcAddress. */
#include <stdio.h>

int cublasCreate_v2(void **handle), cublasGetVersion_v2(void *handle, int *version), cublasDestroy_v2(void *handle);

int main(void) {
    void *handle = 0;
    int version = 0;
    int wrong = cublasCreate_v2(&handle) || cublasGetVersion_v2(handle, &version) || cublasDestroy_v2(handle);
    printf("cublas %d\n", version);
    return wrong;
}
