/* Makes the handle that each toolkit library begins with, and ends it: NAME=PATH words say which library is where.
 * Prints `function = result`, and what the handle says of itself where that is cheap. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *P;
static P lib;

static P get(const char *name) {
    P found = dlsym(lib, name);
    if (!found) { printf("no %s\n", name); exit(1); }
    return found;
}

#define CALL(name, ...) (((int (*)())get(name))(__VA_ARGS__))

static int asked(const char *name, int result) {
    printf("%s = %d\n", name, result);
    fflush(stdout);
    return result;
}

static int handle(const char *create, const char *end) {
    P made = NULL;
    int result = asked(create, CALL(create, &made));
    return result || !made || asked(end, CALL(end, made));
}

/* Multiplies matrices of half precision: cuBLASLt chooses a kernel by where the multiprocessors sit. */
static int half(void) {
    P made = NULL, cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*allocate)() = dlsym(cuda, "cuMemAlloc_v2"), (*wait)() = dlsym(cuda, "cuCtxSynchronize");
    unsigned long long a, b, c;
    float one = 1, zero = 0;
    int failed = 0, n = 64;
    if (asked("cublasCreate_v2", CALL("cublasCreate_v2", &made))) return 1;
    if (allocate(&a, 1ul << 16) || allocate(&b, 1ul << 16) || allocate(&c, 1ul << 16)) return 1;
    static const struct { int type; const char *name; } types[] = { { 2, "half" }, { 14, "bfloat16" }, { 0, "float" } };
    for (int i = 0; i < 3; i++) {
        int t = types[i].type;
        int (*multiply)(P, int, int, int, int, int, P, unsigned long long, int, int, unsigned long long, int, int, P,
                        unsigned long long, int, int, int, int) = get("cublasGemmEx");
        printf("%s: ", types[i].name);
        failed |= asked("cublasGemmEx", multiply(made, 0, 0, n, n, n, &one, a, t, n, b, t, n, &zero, c, t, n, 68, -1));
    }
    failed |= asked("cuCtxSynchronize", wait());
    return failed | asked("cublasDestroy_v2", CALL("cublasDestroy_v2", made));
}

static int fft(void) {
    int plan = -1, result = asked("cufftPlan1d", CALL("cufftPlan1d", &plan, 1024, 0x29, 1));
    return result || asked("cufftDestroy", CALL("cufftDestroy", plan));
}

static int random_numbers(void) {
    P made = NULL;
    int result = asked("curandCreateGenerator", CALL("curandCreateGenerator", &made, 100));
    return result || asked("curandDestroyGenerator", CALL("curandDestroyGenerator", made));
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        char *path = strchr(argv[i], '=');
        if (!path) { fprintf(stderr, "toolkit.c: %s is not NAME=PATH\n", argv[i]); return 2; }
        *path++ = 0;
        lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (!lib) { printf("%s\n", dlerror()); failed = 1; continue; }
        if (!strcmp(argv[i], "load")) continue; /* what another one needs */
        if (!strcmp(argv[i], "cublas")) failed |= handle("cublasCreate_v2", "cublasDestroy_v2");
        else if (!strcmp(argv[i], "gemm")) failed |= half();
        else if (!strcmp(argv[i], "cublasLt")) failed |= handle("cublasLtCreate", "cublasLtDestroy");
        else if (!strcmp(argv[i], "cudnn")) failed |= handle("cudnnCreate", "cudnnDestroy");
        else if (!strcmp(argv[i], "cufft")) failed |= fft();
        else if (!strcmp(argv[i], "curand")) failed |= random_numbers();
        else if (!strcmp(argv[i], "cusparse")) failed |= handle("cusparseCreate", "cusparseDestroy");
        else if (!strcmp(argv[i], "cusolver")) failed |= handle("cusolverDnCreate", "cusolverDnDestroy");
        else { printf("nobody knows %s\n", argv[i]); failed = 1; }
    }
    puts(failed ? "not all is well" : "all is well");
    return failed;
}
