/* Three runtimes in one process: the program's own and two shared ones. What goes wrong: a call is shown as another instance's.
 * Instance n (0 the program's) allocates n + 1 times in each of two rounds, in turn with the others.
 * Usage: several libcudart.so.12 libcudart.so.13 */
#include "cudart.h"
#include <dlfcn.h>

typedef struct { int (*malloc)(void **, size_t), (*memset)(void *, int, size_t), (*free)(void *), (*version)(int *); } Runtime;

static Runtime open_runtime(const char *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); exit(1); }
    return (Runtime){ dlsym(lib, "cudaMalloc"), dlsym(lib, "cudaMemset"), dlsym(lib, "cudaFree"), dlsym(lib, "cudaRuntimeGetVersion") };
}

int main(int argc, char **argv) {
    Runtime all[3] = { { cudaMalloc, cudaMemset, cudaFree, cudaRuntimeGetVersion } };
    TRUE(argc == 3);
    for (int n = 1; n < 3; n++) all[n] = open_runtime(argv[n]);
    for (int round = 0; round < 2; round++)
        for (int n = 0; n < 3; n++) {
            for (int times = 0; times <= n; times++) {
                void *memory;
                OK(all[n].malloc(&memory, 100 * (n + 1)));
                OK(all[n].memset(memory, 0, 100));
                OK(all[n].free(memory));
            }
            int version;
            OK(all[n].version(&version));
            printf("%d ", version);
        }
    puts("all is well");
    return 0;
}
