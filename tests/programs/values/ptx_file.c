/* Kernel parameters of PTX that the program has the driver load from files: as a module, as a library, through the linker. The
 * files are written beside the program. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { int e_ = (int)(call); if (e_) { fprintf(stderr, "%s = %d\n", #call, e_); exit(1); } } while (0)
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static char path[4096];

static const char *keep(const char *own, const char *name, const char *text) {
    snprintf(path, sizeof path, "%s.%s.ptx", own, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) exit(2);
    return path;
}

static void launch(CUmodule module, const char *name, void **values) {
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, name));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, values, 0));
}

int main(int argc, char **argv) {
    (void)argc;
    CUcontext context;
    CUmodule module;
    CUlibrary library;
    CUkernel kernel;
    CUlinkState state;
    void *made;
    size_t size;
    float height = 2.5f;
    unsigned n = 1024;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context));
    keep(argv[0], "module", HEAD ".visible .entry of_module(.param.f32 height, .param .u32 rows)\n{\n ret;\n}\n");
    CHECK(cuModuleLoad(&module, path));
    launch(module, "of_module", (void *[]){&height, &n});
    keep(argv[0], "library", HEAD ".visible .entry of_library(.param .u32 columns)\n{\n ret;\n}\n");
    CHECK(cuLibraryLoadFromFile(&library, path, 0, 0, 0, 0, 0, 0) || cuLibraryGetKernel(&kernel, library, "of_library"));
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){&n}, 0));
    keep(argv[0], "piece", HEAD ".visible .entry piece(.param .u32 part)\n{\n ret;\n}\n");
    CHECK(cuLinkCreate(0, 0, 0, &state) || cuLinkAddFile(state, CU_JIT_INPUT_PTX, path, 0, 0, 0));
    CHECK(cuLinkComplete(state, &made, &size) || cuModuleLoadData(&module, made));
    launch(module, "piece", (void *[]){&n});
    puts("done");
    return 0;
}
