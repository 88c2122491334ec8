/* Two kernels whose names lie where cutap has one place for both, launched in turn, each as often as the other. Prints their names. */
#include "cudart.h"
#include <stdint.h>

enum { KERNELS = 3000, TURNS = 10000, PLACES = 4096 };

int main(void) {
    static char ptx[KERNELS * 80 + 100];
    static int at[PLACES];
    static void *kernels[KERNELS];
    char name[32], *end = ptx + sprintf(ptx, ".version 7.0\n.target sm_50\n.address_size 64\n");
    for (int i = 0; i < KERNELS; i++) end += sprintf(end, ".visible .entry of_%d(.param .u32 n)\n{\n  ret;\n}\n", i);
    void *library;
    OK(cudaFree(0));
    OK(cudaLibraryLoadData(&library, ptx, 0, 0, 0, 0, 0, 0));
    int one = -1, other = -1;
    for (int i = 0; i < KERNELS && one < 0; i++) {
        const char *told;
        sprintf(name, "of_%d", i);
        OK(cudaLibraryGetKernel(&kernels[i], library, name));
        OK(cudaFuncGetName(&told, kernels[i]));
        int *place = &at[((uintptr_t)told >> 3) % PLACES];
        if (*place) one = *place - 1, other = i;
        *place = i + 1;
    }
    if (one < 0) return 77;
    for (int i = 0; i < 2 * TURNS; i++) {
        void *arguments[] = {&i};
        OK(cudaLaunchKernel(kernels[i % 2 ? one : other], (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 0, 0));
        if (i % 500 == 0) OK(cudaDeviceSynchronize());
    }
    printf("of_%d of_%d\n", one, other);
    return 0;
}
