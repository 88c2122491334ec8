/* Each way in which a runtime gives memory of a device, until it gives no more; see driver_paths.c. The runtime calls the driver: memory
 * that is counted at both is gone after half of it. The last error is the one of a full device, and is forgotten when it was asked for. */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long u64;
#define MOST 64
#define BYTES (24ul << 20)
#define CHECK(call) do { int e_ = (call); if (e_) { printf("%s = %d\n", #call, e_); exit(1); } } while (0)

/* Declared here, so that no header is needed. */
extern int cudaMalloc(), cudaFree(), cudaGetLastError(), cudaDeviceSynchronize();
extern int cudaMallocPitch(), cudaMallocManaged(), cudaMallocArray(), cudaFreeArray(), cudaMallocAsync(), cudaFreeAsync();
extern int cudaMalloc3DArray(), cudaMallocMipmappedArray(), cudaFreeMipmappedArray(), cudaMallocHost(), cudaFreeHost(), cudaMemGetInfo();
extern int cudaDeviceReset();
struct channels { int x, y, z, w, kind; };
struct extent { size_t width, height, depth; };

static void *all[MOST];
static const struct channels bytes4 = {8, 8, 8, 8, 1};

static int linear(int n) { return cudaMalloc(&all[n], BYTES); }
static int lines(int n) { size_t pitch; return cudaMallocPitch(&all[n], &pitch, 24 * 1000ul, 1024ul); }
static int managed(int n) { return cudaMallocManaged(&all[n], BYTES, 1); }
static int array(int n) { return cudaMallocArray(&all[n], &bytes4, 3072ul, 2048ul, 0); }
static int array3d(int n) { return ((int (*)(void *, const void *, struct extent, unsigned))cudaMalloc3DArray)(&all[n], &bytes4, (struct extent){256, 256, 96}, 0); }
static int mipmaps(int n) { return ((int (*)(void *, const void *, struct extent, unsigned, unsigned))cudaMallocMipmappedArray)(&all[n], &bytes4, (struct extent){2048, 2048, 0}, 2, 0); }
static int pooled(int n) { return cudaMallocAsync(&all[n], BYTES, (void *)0); }
static int host(int n) { return cudaMallocHost(&all[n], BYTES); }

static int gives(int n) { return cudaFree(all[n]); }
static int gives_array(int n) { return cudaFreeArray(all[n]); }
static int gives_mipmaps(int n) { return cudaFreeMipmappedArray(all[n]); }
static int gives_pooled(int n) { return cudaFreeAsync(all[n], (void *)0); }
static int gives_host(int n) { return cudaFreeHost(all[n]); }
static int resets(int n) { return n ? 0 : cudaDeviceReset(); }

static const struct way { const char *name; int (*takes)(int), (*gives)(int); } ways[] = {
    {"cudaMalloc", linear, gives}, {"cudaMallocPitch", lines, gives}, {"cudaMallocManaged", managed, gives},
    {"cudaMallocArray", array, gives_array}, {"cudaMalloc3DArray", array3d, gives_array},
    {"cudaMallocMipmappedArray", mipmaps, gives_mipmaps}, {"cudaMallocAsync", pooled, gives_pooled},
    {"cudaMalloc, to cudaDeviceReset", linear, resets}, {"cudaMallocHost", host, gives_host},
};

int main(int count, char **words) {
    const struct way *way = &ways[atoi(words[1])];
    int given[2], error = 0;
    size_t before, total, after;
    CHECK(cudaFree(0) || cudaMemGetInfo(&before, &total));
    for (int round = 0; round < 2; round++) {
        int n = 0;
        while (n < MOST && !(error = way->takes(n))) n++;
        given[round] = n;
        if (error && cudaGetLastError() != error) printf("another last error\n");
        if (cudaGetLastError()) printf("the last error stays\n");
        for (int i = 0; i < n; i++) CHECK(way->gives(i));
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemGetInfo(&after, &total));
    printf("%-38s %2d %2d  error %d  %s of %zu MiB\n", way->name, given[0], given[1], error, after == before ? "all free" : "not all free", total >> 20);
    return 0;
}
