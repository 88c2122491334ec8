/* cuInit and device queries of a real libcuda on the model of the kernel driver; with the argument `context` also a context and memory. Each result is one line, so that the first that fails is seen. Wrong: another answer than the recorded GPU's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *library;
static int failed;

static void *function(const char *name) {
    void *found = dlsym(library, name);
    if (!found) printf("%s: not in this libcuda\n", name);
    return found;
}

static int check(const char *name, int result) {
    if (result) failed = 1, printf("%s = %d\n", name, result);
    fflush(stdout);
    return result;
}

int main(int argc, char **argv) {
    /* As root libcuda would make device nodes in /dev. */
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    if (syscall(SYS_capget, &head, sets)) return 70;
    sets[0].effective &= ~(1u << CAP_MKNOD), sets[0].permitted &= ~(1u << CAP_MKNOD);
    if (syscall(SYS_capset, &head, sets)) return 70;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return printf("%s\n", dlerror()), 2;
    int (*version)(int *) = function("cuDriverGetVersion"), (*init)(unsigned) = function("cuInit");
    int (*count)(int *) = function("cuDeviceGetCount"), (*get)(int *, int) = function("cuDeviceGet");
    int (*name)(char *, int, int) = function("cuDeviceGetName");
    int (*uuid)(unsigned char *, int) = function("cuDeviceGetUuid_v2");
    int (*bus)(char *, int, int) = function("cuDeviceGetPCIBusId");
    int (*attribute)(int *, int, int) = function("cuDeviceGetAttribute");
    int (*memory)(size_t *, int) = function("cuDeviceTotalMem_v2");
    int number = 0, devices = 0;
    if (!check("cuDriverGetVersion", version(&number))) printf("cuDriverGetVersion: %d\n", number);
    int result = init(0);
    printf("cuInit = %d\n", result);
    fflush(stdout);
    if (result) return 1;
    if (check("cuDeviceGetCount", count(&devices))) return 1;
    printf("cuDeviceGetCount: %d\n", devices);
    for (int n = 0; n < devices; n++) {
        int device = -1;
        char words[128] = "";
        unsigned char bytes[16] = {0};
        size_t total = 0;
        if (check("cuDeviceGet", get(&device, n))) continue;
        if (!check("cuDeviceGetName", name(words, sizeof words, device))) printf("cuDeviceGetName: %s\n", words);
        if (!check("cuDeviceGetUuid", uuid(bytes, device))) {
            printf("cuDeviceGetUuid: ");
            for (int i = 0; i < 16; i++) printf("%02x", bytes[i]);
            puts("");
        }
        if (!check("cuDeviceGetPCIBusId", bus(words, sizeof words, device))) printf("cuDeviceGetPCIBusId: %s\n", words);
        if (!check("cuDeviceTotalMem", memory(&total, device))) printf("cuDeviceTotalMem: %zu\n", total);
        for (int a = 1; a < 150; a++) {
            int value = 0, got = attribute(&value, a, device);
            if (!got) printf("attribute %d: %d\n", a, value);
            else if (got != 1) failed = 1, printf("attribute %d = error %d\n", a, got);
        }
    }
    if (argc > 1 && !strcmp(argv[1], "context")) {
        int (*create)(void **, unsigned, int) = function("cuCtxCreate_v2"), (*destroy)(void *) = function("cuCtxDestroy_v2");
        int (*alloc)(size_t *, size_t) = function("cuMemAlloc_v2"), (*release)(size_t) = function("cuMemFree_v2");
        void *context = NULL;
        size_t at = 0;
        puts("cuCtxCreate begins");
        fflush(stdout);
        if (check("cuCtxCreate", create(&context, 0, 0))) return 1;
        puts("cuCtxCreate done");
        if (!check("cuMemAlloc", alloc(&at, 1 << 20))) printf("cuMemAlloc: %#zx\n", at);
        /* Copies, a fill and a wait; none of them launches a kernel, which the model would not run. */
        int (*to)(size_t, const void *, size_t) = function("cuMemcpyHtoD_v2");
        int (*from)(void *, size_t, size_t) = function("cuMemcpyDtoH_v2");
        int (*fill)(size_t, unsigned, size_t) = function("cuMemsetD32_v2");
        int (*wait)(void) = function("cuCtxSynchronize");
        static unsigned sent[100000], got[100000];
        unsigned wrong = 0;
        for (unsigned i = 0; i < 100000; i++) sent[i] = i * 2654435761u;
        check("cuMemcpyHtoD", to(at, sent, sizeof sent));
        check("cuMemsetD32", fill(at, 77, 1000));
        check("cuCtxSynchronize", wait());
        check("cuMemcpyDtoH", from(got, at, sizeof got));
        for (unsigned i = 0; i < 100000; i++) wrong += got[i] != (i < 1000 ? 77 : sent[i]);
        printf("words that differ: %u\n", wrong);
        check("cuMemFree", release(at));
        check("cuCtxDestroy", destroy(context));
    }
    puts(failed ? "some failed" : "all done");
    return failed;
}
