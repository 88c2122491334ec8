/* Driver functions that a runtime hands out. What goes wrong: the program calls them through a pointer that nobody diverted.
 * Built with -DBY_VERSION it asks by version (runtimes from 12.5 on). */
#include "cudart.h"

int main(void) {
    int (*allocate)(void **, size_t), (*release)(void *), status = -1, unused;
    void *memory;
    OK(cudaGetDeviceCount(&unused));
    OK(cudaMalloc(&memory, 100)); /* makes the context */
    OK(cudaFree(memory));
#ifdef BY_VERSION
    OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", (void **)&allocate, 12000, 0, &status));
    TRUE(status == 0);
    OK(cudaGetDriverEntryPointByVersion("cuMemFree", (void **)&release, 12000, 0, &status));
    TRUE(status == 0);
#else
    OK(cudaGetDriverEntryPoint("cuMemAlloc", (void **)&allocate, 0, &status)); /* three arguments in 11.x */
    OK(cudaGetDriverEntryPoint("cuMemFree", (void **)&release, 0, &status));
#endif
    for (int i = 0; i < 5; i++) {
        TRUE(allocate(&memory, 1000) == 0 && memory != NULL);
        TRUE(release(memory) == 0);
    }
    puts("all is well");
    return 0;
}
