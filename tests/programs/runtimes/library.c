/* A kernel from PTX that the program gives the runtime itself (12.8 on). What goes wrong: the launch has no name, the image is not
 * kept, or what the runtime asks the driver because we listen is shown as the program's. */
#include "cudart.h"

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry _Z5scalePfif(.param .u64 x, .param .u32 n, .param .f32 a)\n{ ret; }\n";

int main(void) {
    void *library, *kernel, *x;
    int n = 10;
    float a = 2;
    dim3 one = { 1, 1, 1 }, block = { 256, 1, 1 };
    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "_Z5scalePfif"));
    OK(cudaMalloc(&x, 40));
    /* The runtime asks the driver, for the program's sake. */
    const char *name;
    for (int i = 0; i < 3; i++) OK(cudaFuncGetName(&name, kernel));
    TRUE(strcmp(name, "_Z5scalePfif") == 0);
    void *arguments[] = { &x, &n, &a };
    for (int i = 0; i < 3; i++) OK(cudaLaunchKernel(kernel, one, block, arguments, 0, NULL));
    OK(cudaFuncGetName(&name, kernel));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    OK(cudaLibraryUnload(library));
    puts("all is well");
    return 0;
}
