/* Says in which file the code lies that each way of asking for a function leads to; by the list of mappings, for dladdr is answered by
 * whoever diverts. What goes wrong: what nobody wants to see is diverted all the same, and costs something. */
//: exe pointers -Wl,-z,now -l:libcuda.so.1 -l:libcudart.so.12 -l:libcublas.so.13
#include "fixture.h"

static void say(const char *way, const char *name, void *address) {
    char line[600], *file;
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long begin, end, a = (unsigned long)address;
    CHECK(maps && address);
    while (fgets(line, sizeof line, maps)) {
        CHECK(sscanf(line, "%lx-%lx", &begin, &end) == 2);
        if (a < begin || a >= end) continue;
        file = strrchr(line, '/');
        printf("%s %s %s", way, name, file ? file + 1 : "?\n");
    }
    fclose(maps);
}
#define SAY(function) say("bound", #function, (void *)function), say("dlsym", #function, dlsym(RTLD_DEFAULT, #function))

int main(int argc, char **argv) {
    void *f;
    (void)argv;
    CHECK(cuInit(0) == 0);
    if (argc == 1) return puts("ok") < 0;
    SAY(cuMemAlloc_v2), SAY(cuMemFree_v2), SAY(cuDriverGetVersion), SAY(cudaMalloc), SAY(cudaFree), SAY(cublasCreate_v2);
    CHECK(cuGetProcAddress("cuMemAlloc", &f, 12000, 0) == 0); say("cuGetProcAddress", "cuMemAlloc", f);
    CHECK(cuGetProcAddress("cuMemFree", &f, 12000, 0) == 0); say("cuGetProcAddress", "cuMemFree", f);
    CHECK(cudaGetDriverEntryPoint("cuMemFree", &f, 0, 0) == 0); say("cudaGetDriverEntryPoint", "cuMemFree", f);
    return 0;
}
