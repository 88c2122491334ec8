/* A launch of what is no kernel. What goes wrong: runtimes before 12.9 leave whatever lay on the stack where they should put the
 * kernel's name; who reads it as a string reads garbage, or dies. */
#include "cudart.h"

static void no_kernel(void) {}

static __attribute__((noinline)) void fill_stack(int byte) {
    volatile char words[32768];
    for (unsigned i = 0; i < sizeof words; i++) words[i] = byte;
}

int main(void) {
    dim3 one = { 1, 1, 1 };
    int count;
    OK(cudaGetDeviceCount(&count));
    OK(cudaDeviceSynchronize());
    for (int byte = 0; byte < 256; byte++) {
        fill_stack(byte);
        int result = CALL(cudaLaunchKernel((void *)no_kernel, one, one, NULL, 0, NULL));
        TRUE(result == 98 || result == 400);
    }
    puts("all is well");
    return 0;
}
