/* Kernel parameters of PTX that the program loads as text: by cuModuleLoadData, cuLibraryLoadData, the linker, and in a fat binary
 * that is not compressed. Names are those of the PTX; names that a compiler made up are none, their types are used. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n// .entry no(.param .u32 list)\n"

static const char by_hand[] = HEAD
    ".visible .entry saxpy(\n\t.param .u32 n, // how many\n\t.param .f32 a,\n\t.param .u64 .ptr .global .align 4 x,\n"
    "\t.param .u64 y /* too */,\n\t.param .s32 shift,\n\t.param .f64 scale,\n\t.param .align 8 .b8 pair[16]\n)\n{\n ret;\n}\n";
static const char by_compiler[] = HEAD
    ".visible .entry _Z4fillPfi(\n\t.param .u64 _Z4fillPfi_param_0,\n\t.param .u32 _Z4fillPfi_param_1\n)\n{\n ret;\n}\n"
    ".visible .entry scale(\n\t.param .u64 scale_param_0,\n\t.param .f32 scale_param_1,\n\t.param .u32 scale_param_2\n)\n{\n ret;\n}\n";
static const char linked[] = HEAD ".visible .entry linked(.param .f64 weight)\n{\n ret;\n}\n";
static const char packed[] = HEAD ".visible .entry in_fat(.param .f32 left, .param .s64 right)\n{\n ret;\n}\n";

static void launch(CUmodule module, const char *name, void **values) {
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, name));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, values, 0));
}

static CUmodule load(const void *image) {
    CUmodule module;
    CHECK(cuModuleLoadData(&module, image));
    return module;
}

int main(void) {
    CUcontext context;
    CUdeviceptr x;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuMemAlloc(&x, 4096));
    unsigned n = 1024;
    int minus = -3;
    long long far = -5;
    float a = 2.5f;
    double scale = 0.125;
    unsigned long long pair[2] = {x + 256, 7};
    void *values[] = {&n, &a, &x, &x, &minus, &scale, pair};
    launch(load(by_hand), "saxpy", values);

    CUlibrary library;
    CUkernel kernel;
    CHECK(cuLibraryLoadData(&library, by_compiler, 0, 0, 0, 0, 0, 0) || cuLibraryGetKernel(&kernel, library, "_Z4fillPfi"));
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){&x, &minus}, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "scale"));
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){&x, &a, &n}, 0));

    CUlinkState state;
    void *made;
    size_t size;
    CHECK(cuLinkCreate(0, 0, 0, &state) || cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)linked, sizeof linked, "linked.ptx", 0, 0, 0));
    CHECK(cuLinkComplete(state, &made, &size));
    launch(load(made), "linked", (void *[]){&scale});

    /* A head of 16 bytes; for each part one of 64: kind, its own size, the content's, ..., architecture, ..., flags. */
    static struct { unsigned magic, version; unsigned long long bytes; unsigned kind, head; unsigned long long size;
        unsigned rest[12]; char text[512]; } fat = {0xba55ed50, 16 << 16 | 1, 64 + sizeof fat.text, 1, 64, sizeof fat.text, {0}, {0}};
    fat.rest[3] = 80;
    memcpy(fat.text, packed, sizeof packed);
    struct { unsigned magic, version; const void *data, *more; } wrapper = {0x466243b1, 1, &fat, 0};
    launch(load(&wrapper), "in_fat", (void *[]){&a, &far});
    puts("done");
    return 0;
}
