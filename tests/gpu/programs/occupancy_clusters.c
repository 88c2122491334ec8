// What libcuda answers for clusters: cuOccupancyMaxActiveClusters, cuOccupancyMaxPotentialClusterSize and blocks of an SM,
// for cluster sizes 1 to 32, several block sizes and sizes of shared memory, one JSON line each. Also the maps of
// cuTensorMapEncodeIm2col, whose format is not known, and of strides of 64 GiB and more.
//   cc -O1 occupancy_clusters.c -o occupancy_clusters -ldl; occupancy_clusters launches.cubin
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int result;
typedef void *handle;
struct attribute { unsigned id, pad; union { char bytes[64]; struct { unsigned x, y, z; } cluster; int number; } value; };
struct config { unsigned grid[3], block[3], shared; handle stream; struct attribute *attributes; unsigned count; };

static void *lib;
static void *named(const char *name)
{
    void *found = dlsym(lib, name);
    if (!found) { fprintf(stderr, "libcuda has no %s\n", name); exit(1); }
    return found;
}
#define CALL(name, types, ...) (((result (*) types)named(name))(__VA_ARGS__))

static int attribute_of(handle function, int id)
{
    int value = -1;
    CALL("cuFuncGetAttribute", (int *, int, handle), &value, id, function);
    return value;
}

static void ask(handle function, const char *kernel, unsigned size, unsigned threads, unsigned shared, unsigned blocks)
{
    struct attribute a = {.id = 4};
    a.value.cluster.x = size; a.value.cluster.y = a.value.cluster.z = 1;
    struct config c = {{blocks, 1, 1}, {threads, 1, 1}, shared, NULL, &a, 1};
    int clusters = -1, largest = -1, of_sm = -1;
    result r1 = CALL("cuOccupancyMaxActiveClusters", (int *, handle, struct config *), &clusters, function, &c);
    c.count = 0;
    result r2 = CALL("cuOccupancyMaxPotentialClusterSize", (int *, handle, struct config *), &largest, function, &c);
    result r3 = CALL("cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, handle, int, size_t), &of_sm, function, threads, shared);
    printf("{\"kernel\":\"%s\",\"cluster\":%u,\"threads\":%u,\"shared\":%u,\"grid\":%u,\"active\":[%d,%d],\"potential\":[%d,%d],\"blocks\":[%d,%d]}\n",
           kernel, size, threads, shared, blocks, r1, clusters, r2, largest, r3, of_sm);
}

static void words(result r, const unsigned *map)
{
    printf(",\"result\":%d,\"map\":\"", r);
    for (int n = 0; n < 32; n++) printf("%s%x", n ? " " : "", map[n]);
    printf("\"}\n");
}

static void maps(uint64_t address)
{
    uint64_t seed = 7;
    for (int n = 0; n < 600; n++) {
#define BELOW(most) ((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % (most)
        unsigned rank = 3 + BELOW(3), kind = BELOW(13), map[32] __attribute__((aligned(64))) = {0};
        uint64_t sides[5], strides[5] = {0};
        int lower[3], upper[3];
        unsigned steps[5], channels = 1 + BELOW(256), pixels = 1 + BELOW(1024);
        unsigned interleave = BELOW(4) ? 0 : BELOW(3), swizzle = BELOW(4), promotion = BELOW(4), fill = kind > 5 ? BELOW(2) : 0;
        for (int k = 0; k < 5; k++) { sides[k] = 1 + BELOW(4000); strides[k] = 32 * (1 + BELOW(1 << 20)); steps[k] = 1 + BELOW(3); }
        for (int k = 0; k < 3; k++) { lower[k] = (int)(BELOW(32)) - 16; upper[k] = (int)(BELOW(32)) - 16; }
        if (n % 4) { channels = 16 << (n & 1); pixels = 1 + BELOW(64); swizzle = 0; }
        result r = CALL("cuTensorMapEncodeIm2col", (void *, unsigned, unsigned, void *, const uint64_t *, const uint64_t *, const int *, const int *,
            unsigned, unsigned, const unsigned *, unsigned, unsigned, unsigned, unsigned),
            map, kind, rank, (void *)address, sides, strides, lower, upper, channels, pixels, steps, interleave, swizzle, promotion, fill);
        printf("{\"im2col\":[%u,%u,\"%#lx\",%u,%u,%u,%u,%u,%u]", kind, rank, address, channels, pixels, interleave, swizzle, promotion, fill);
        for (unsigned k = 0; k < rank; k++) printf(",\"side%u\":[%lu,%lu,%u]", k, sides[k], strides[k], steps[k]);
        for (unsigned k = 0; k + 2 < rank; k++) printf(",\"corner%u\":[%d,%d]", k, lower[k], upper[k]);
        words(r, map);
    }
    for (int shift = 34; shift < 41; shift++) {
        for (int which = 0; which < 4; which++) {
            unsigned map[32] __attribute__((aligned(64))) = {0}, box[5] = {16, 1, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
            uint64_t sides[5] = {64, 2, 2, 2, 2}, strides[4] = {64, 128, 256, 512};
            strides[which] = ((uint64_t)1 << shift) - 16;
            result r = CALL("cuTensorMapEncodeTiled", (void *, unsigned, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *,
                const unsigned *, unsigned, unsigned, unsigned, unsigned), map, 7, 5, (void *)address, sides, strides, box, steps, 0, 0, 0, 0);
            printf("{\"stride%d\":%lu", which, strides[which]);
            words(r, map);
        }
    }
}

int main(int count, char **arguments)
{
    static char code[1 << 20];
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : NULL;
    if (!file || !fread(code, 1, sizeof code, file) || !(lib = dlopen("libcuda.so.1", RTLD_NOW))) {
        fprintf(stderr, "usage: occupancy_clusters CUBIN, on a machine with libcuda\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    int device; handle context, module; uint64_t memory;
    CALL("cuInit", (unsigned), 0);
    CALL("cuDeviceGet", (int *, int), &device, 0);
    CALL("cuDevicePrimaryCtxRetain", (handle *, int), &context, device);
    CALL("cuCtxSetCurrent", (handle), context);
    if (CALL("cuModuleLoadData", (handle *, void *), &module, code)) { fprintf(stderr, "the cubin is not loaded\n"); return 1; }
    CALL("cuMemAlloc_v2", (uint64_t *, size_t), &memory, 1 << 20);
    const char *kernels[] = {"clusters", "exchange", "calls"};
    const unsigned threads[] = {32, 64, 128, 256, 384, 512, 1024};
    const unsigned shared[] = {0, 1000, 6144, 20000, 48000, 75000, 100000, 115000, 164000, 200000, 232448};
    for (int portable = 1; portable >= 0; portable--)
        for (int k = 0; k < 3; k++) {
            handle function;
            CALL("cuModuleGetFunction", (handle *, handle, const char *), &function, module, kernels[k]);
            CALL("cuFuncSetAttribute", (handle, int, int), function, 8, 232448 - attribute_of(function, 1));
            CALL("cuFuncSetAttribute", (handle, int, int), function, 14, !portable);
            printf("{\"kernel\":\"%s\",\"registers\":%d,\"static\":%d,\"local\":%d,\"non_portable\":%d}\n", kernels[k],
                   attribute_of(function, 4), attribute_of(function, 1), attribute_of(function, 3), !portable);
            for (unsigned t = 0; t < sizeof threads / sizeof *threads; t++)
                for (unsigned s = 0; s < sizeof shared / sizeof *shared; s++)
                    for (unsigned size = 1; size <= 32; size += portable || k ? size : 1)
                        ask(function, kernels[k], size, threads[t], shared[s], size * 32);
        }
    maps(memory);
    // Without a kernel, as cuBLAS asks. Last, for it may crash.
    for (unsigned size = 1; size <= 32; size++)
        for (unsigned s = 0; s < sizeof shared / sizeof *shared; s++) ask(NULL, "none", size, 384, shared[s], size * 32);
    return 0;
}
