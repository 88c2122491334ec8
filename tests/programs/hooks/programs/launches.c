/* Launches a kernel that is registered as a compiler does it, and what is none, with errors pending and without. */
#include "../../runtimes/cudart.h"

cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
__attribute__((weak)) cudaError_t __cudaGetKernel(void **, const void *);
__attribute__((weak)) cudaError_t __cudaLaunchKernel(void *, dim3, dim3, void **, size_t, cudaStream_t);

static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry _Z5twicei(.param .u32 n)\n{ ret; }\n";
#include "../../runtimes/fatbin.h"
static void twice(void) {}
static void no_kernel(void) {}

__attribute__((constructor)) static void register_code(void) {
    void **registered = __cudaRegisterFatBinary(fat_binary(52));
    __cudaRegisterFunction(registered, (const char *)twice, "_Z5twicei", "_Z5twicei", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(registered);
}

/* Of what is no kernel runtimes say 98 or 400. */
static int fails(int code) { return code == 400 ? 98 : code; }
static void ended(const char *what, int code) {
    int peek = cudaPeekAtLastError(), last = cudaGetLastError(), none = cudaGetLastError();
    printf("%s: %d, last %d %d %d\n", what, fails(code), fails(peek), fails(last), none);
}
static void launch(const char *what, void (*function)(void), unsigned threads, int pending) {
    dim3 one = {1, 1, 1}, block = {threads, 1, 1};
    int n = 3;
    void *args[] = {&n};
    if (pending)
        cudaSetDevice(77);
    ended(what, cudaLaunchKernel((void *)function, one, block, args, 0, NULL));
}
int main(void) {
    dim3 one = {1, 1, 1};
    int n = 3;
    void *args[] = {&n}, *kernel;
    setvbuf(stdout, 0, _IONBF, 0);
    launch("first", twice, 1, 0);
    launch("pending", twice, 1, 1);
    launch("none", no_kernel, 1, 0);
    launch("answered", no_kernel, 2, 0);
    launch("answered, pending", no_kernel, 2, 1);
    printf("together: %d\n", cudaLaunchCooperativeKernel((void *)twice, one, one, args, 0, NULL));
    if (__cudaGetKernel && __cudaLaunchKernel && !__cudaGetKernel(&kernel, twice))
        ended("as compiled", __cudaLaunchKernel(kernel, one, one, args, 0, NULL));
    return 0;
}
