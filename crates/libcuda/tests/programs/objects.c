/* Linker, kernels of libraries, managed memory's wishes, mipmaps, textures, green contexts, copies in batches. */
#include "check.h"

static const char one[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry f(.param .u64 a, .param .f32 b)\n{ ret; }\n";
static const char two[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 42;\n.visible .global .attribute(.managed) .align 4 .u32 shared = 7;\n.visible .entry g()\n{ ret; }\n";
static P context;

static void linking(void) {
    P link, image, mod, f, home;
    size_t size = 0, offset = 7;
    int n = 0;
    unsigned count = 0;
    U a;
    OK(cuLinkCreate_v2, 0, NUL, NUL, &link);
    OK(cuLinkAddData_v2, link, 1, one, sizeof one, "one", 0, NUL, NUL);
    OK(cuLinkAddData_v2, link, 1, two, sizeof two, "two", 0, NUL, NUL);
    OK(cuLinkComplete, link, &image, &size);
    TRUE(size > sizeof one);
    OK(cuModuleLoadData, &mod, image);
    OK(cuLinkDestroy, link);
    OK(cuModuleGetFunctionCount, &count, mod);
    TRUE(count == 2);
    OK(cuModuleGetFunction, &f, mod, "f");
    OK(cuFuncGetParamInfo, f, SIZE(1), &offset, &size);
    TRUE(offset == 8 && size == 4);
    IS(1, cuFuncGetParamInfo, f, SIZE(2), &offset, &size);
    OK(cuFuncGetModule, &home, f);
    TRUE(home == mod);
    OK(cuModuleGetGlobal_v2, &a, &size, mod, "counter");
    OK(cuMemcpyDtoH_v2, &n, a, size);
    TRUE(n == 42);
    OK(cuModuleGetGlobal_v2, &a, &size, mod, "shared");
    TRUE(*(int *)a == 7 && size == 4);
    OK(cuPointerGetAttribute, &n, 8, a);
    TRUE(n == 1);
}

static void kernels(void) {
    P library, kernel, function, found[3] = { 0 };
    const char *name = "";
    unsigned count = 0;
    size_t params = 7;
    OK(cuLibraryLoadData, &library, one, NUL, NUL, 0, NUL, NUL, 0);
    OK(cuLibraryGetKernelCount, &count, library);
    TRUE(count == 1);
    OK(cuLibraryEnumerateKernels, found, 1, library);
    OK(cuLibraryGetKernel, &kernel, library, "f");
    TRUE(kernel == found[0]);
    OK(cuKernelGetName, &name, kernel);
    TRUE(!strcmp(name, "f"));
    OK(cuKernelGetParamCount, kernel, &params);
    TRUE(params == 2);
    OK(cuKernelGetFunction, &function, kernel);
    IS(400, cuKernelGetName, &name, function); /* a function is no kernel */
    OK(cuFuncGetName, &name, function);
    OK(cuKernelGetLibrary, &found[1], kernel);
    TRUE(found[1] == library);
    /* the youngest attributes: one is only told, one has five values */
    int value = -1;
    OK(cuKernelGetAttribute, &value, 16, kernel, 0);
    TRUE(value == 1);
    IS(1, cuKernelSetAttribute, 16, 1, kernel, 0);
    OK(cuKernelSetAttribute, 17, 4, kernel, 0);
    OK(cuKernelGetAttribute, &value, 17, kernel, 0);
    TRUE(value == 4);
    IS(1, cuKernelSetAttribute, 17, 5, kernel, 0);
    IS(1, cuKernelGetAttribute, &value, 18, kernel, 0);
    IS(1, cuKernelSetAttribute, 15, 3, kernel, 0);
    OK(cuLibraryUnload, library);
    /* CU_LIBRARY_BINARY_IS_PRESERVED has no value, and none needs to be given; option 0 has one, and there are no more */
    unsigned preserved[] = { 1, 1 }, both[] = { 1, 0 }, beyond[] = { 2 };
    P values[] = { NULL, NULL };
    OK(cuLibraryLoadData, &library, one, NUL, NUL, 0, preserved, NUL, 1);
    OK(cuLibraryGetKernel, &kernel, library, "f");
    OK(cuLibraryUnload, library);
    OK(cuLibraryLoadData, &library, one, NUL, NUL, 0, preserved, NUL, 2);
    OK(cuLibraryLoadData, &library, one, NUL, NUL, 0, both, values, 2);
    IS(1, cuLibraryLoadData, &library, one, NUL, NUL, 0, both, NUL, 2);
    IS(1, cuLibraryLoadData, &library, one, NUL, NUL, 0, beyond, values, 1);
    IS(1, cuLibraryLoadData, &library, one, NUL, NUL, 0, NUL, values, 1);
    IS(1, cuLibraryLoadFromFile, &library, "/no/such/file", NUL, NUL, 0, preserved, NUL, 1);
    IS(301, cuLibraryLoadFromFile, &library, "/no/such/file", NUL, NUL, 0, NUL, NUL, 0);
}

/* A hidden table that cuBLASLt asks: each pair of multiprocessors in a cluster, no two at one place. */
static void places(void) {
    P table;
    unsigned char *cluster = NULL, *place = NULL, seen[256][16] = { { 0 } };
    OK(cuGetExportTable, &table, "\x17\x34\xdc\x26\x80\x0d\x47\x45\x87\x26\xc0\xf1\xe7\xdd\x8b\xca");
    TRUE(*(U *)table == 40);
    TRUE(((int (**)())table)[4](&cluster, &place) == 0 && cluster && place);
    for (int i = 0; i < 66; i++) TRUE(!seen[cluster[i]][place[i]]++);
}

/* PTX that no driver takes, and what the log says of it. */
static void broken(void) {
    P mod;
    char log[200] = "";
    int options[] = { 5, 6 };
    P values[] = { log, (P)sizeof log };
    IS(222, cuModuleLoadDataEx, &mod, ".version 99.9\n.target sm_80\n.visible .entry k(){ret;}\n", 2, options, values);
    TRUE(strstr(log, ".version"));
    values[1] = (P)sizeof log;
    IS(218, cuModuleLoadDataEx, &mod, ".version 7.0\n.target sm_80\n.visible .entry k(.param .u64 a{ret;}\n", 2, options, values);
    TRUE(strstr(log, "broken"));
    IS(218, cuModuleLoadData, &mod, ".version 7.0\n.target sm_42\n.visible .entry k(){ret;}\n");
    IS(218, cuModuleLoadData, &mod, ".version 7.0\n.target sm_80\n.visble .entry k(){ret;}\n");
}

static void managed(void) {
    U a;
    int word = 7, who[2] = { 7, 7 };
    OK(cuMemAllocManaged, &a, SIZE(8192), 1);
    OK(cuMemAdvise, a, SIZE(8192), 1, 0);
    OK(cuMemAdvise, a, SIZE(8192), 3, -1);
    OK(cuMemAdvise, a, SIZE(8192), 5, 0);
    OK(cuMemPrefetchAsync, a, SIZE(8192), 0, NUL);
    OK(cuMemRangeGetAttribute, &word, SIZE(4), 1, a, SIZE(8192));
    TRUE(word == 1);
    OK(cuMemRangeGetAttribute, &word, SIZE(4), 2, a, SIZE(8192));
    TRUE(word == -1);
    OK(cuMemRangeGetAttribute, who, SIZE(8), 3, a, SIZE(8192));
    TRUE(who[0] == 0 && who[1] == -2);
    OK(cuMemRangeGetAttribute, &word, SIZE(4), 4, a, SIZE(8192));
    TRUE(word == 0);
    *(int *)a = 5; /* it is the program's memory too */
    OK(cuMemFree_v2, a);
}

static void textures(void) {
    struct { size_t w, h, d; unsigned format, channels, flags; } volume = { 16, 8, 0, 0x20, 1, 0 }, told;
    U resource[18] = { 0 }, back[18], object = 0;
    P mipmap, level;
    OK(cuMipmappedArrayCreate, &mipmap, &volume, 3);
    OK(cuMipmappedArrayGetLevel, &level, mipmap, 2);
    OK(cuArray3DGetDescriptor_v2, &told, level);
    TRUE(told.w == 4 && told.h == 2 && told.d == 0);
    resource[1] = (U)level;
    OK(cuTexObjectCreate, &object, resource, resource, NUL);
    OK(cuTexObjectGetResourceDesc, back, object);
    TRUE(!memcmp(back, resource, sizeof back));
    OK(cuTexObjectDestroy, object);
    IS(1, cuTexObjectGetResourceDesc, back, object);
    OK(cuMipmappedArrayDestroy, mipmap);
    IS(400, cuArray3DGetDescriptor_v2, &told, level);
}

static void green(void) {
    struct { unsigned kind, hidden[23], count, rest[40]; } all, parts[2], left;
    unsigned count = 2;
    P share, made, own, stream, back;
    OK(cuDeviceGetDevResource, 0, &all, 1);
    TRUE(all.count == 132);
    /* a CUdevResource has 144 bytes */
    char room[2 * 144];
    OK(cuDevSmResourceSplitByCount, room, &count, &all, &left, 0, 30);
    memcpy(&parts[1], room + 144, 144);
    TRUE(count == 2 && parts[1].count == 32 && left.count == 68);
    OK(cuDevResourceGenerateDesc, &share, room, 1);
    OK(cuGreenCtxCreate, &made, share, 0, 1);
    OK(cuCtxFromGreenCtx, &own, made);
    OK(cuGreenCtxStreamCreate, &stream, made, 1, 0);
    OK(cuStreamGetCtx, stream, &back);
    TRUE(back == own && own != context);
    OK(cuStreamGetDevResource, stream, &all, 1);
    TRUE(all.count == 32);
    OK(cuCtxGetCurrent, &back);
    TRUE(back == context);
    OK(cuGreenCtxDestroy, made);
}

static void batches(void) {
    U memory, to[2], from[2];
    size_t sizes[2] = { 8, 8 }, first = 0;
    char text[] = "12345678abcdefgh", back[16] = "";
    unsigned hints[6] = { 1 };
    P stream;
    OK(cuStreamCreate, &stream, 1);
    OK(cuMemAlloc_v2, &memory, SIZE(16));
    to[0] = memory + 8, to[1] = memory, from[0] = (U)text, from[1] = (U)text + 8;
    OK(cuMemcpyBatchAsync_v2, to, from, sizes, SIZE(2), hints, &first, SIZE(1), stream);
    OK(cuMemcpyWithAttributesAsync, (U)back, memory, SIZE(16), hints, stream);
    OK(cuStreamSynchronize, stream);
    TRUE(!memcmp(back, "abcdefgh12345678", 16));
}

int main(void) {
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    linking();
    kernels();
    broken();
    places();
    managed();
    textures();
    green();
    batches();
    puts("all is well");
    return 0;
}
