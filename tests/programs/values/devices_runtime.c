/* The same launch through a runtime: what the driver's call tells of the parameters of each stands in the runtime's too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry scale(.param .f32 by, .param .u32 count)\n{\n ret;\n}\n";

/* ---- what nvcc adds ---- */
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);

#include "../runtimes/fatbin.h"

static void scale(void) {}

static void add_kernel(void) {
    void **code = __cudaRegisterFatBinary(fat_binary(70));
    __cudaRegisterFunction(code, (const char *)scale, "scale", "scale", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(code);
}

int main(void) {
    float by[2] = {0.5f, 1.5f};
    unsigned count = 64;
    void *lists[2][2] = {{&by[0], &count}, {&by[1], &count}};
    struct cudaLaunchParams list[2];
    setenv("CUTAP_SIM_DEVICES", "2", 1);
    add_kernel();
    for (int n = 0; n < 2; n++) {
        list[n] = (struct cudaLaunchParams){.func = (void *)scale, .gridDim = {2, 1, 1}, .blockDim = {64, 1, 1}, .args = lists[n]};
        CHECK(cudaSetDevice(n) || cudaStreamCreate(&list[n].stream));
    }
    CHECK(cudaLaunchCooperativeKernelMultiDevice(list, 2, 0));
    puts("done");
    return 0;
}
