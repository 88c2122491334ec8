/* Ranges by the library libnvToolsExt of old toolkits. */
#include <dlfcn.h>
#include <nvToolsExt.h>
#include <stdio.h>

int main(void) {
    int count;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*start)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*count_devices)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    start(0);
    printf("%d\n", nvtxRangePushA("of the old library"));
    count_devices(&count);
    printf("%d\n", nvtxRangePop());
    return 0;
}
