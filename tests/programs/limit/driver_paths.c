/* Each way in which the driver gives memory of a device, until it gives no more: a mode is a way. A limit that misses one lets
 * the program have all of it, one that counts twice gives too little, and one that misses an end gives nothing the second time.
 * Declarations are the program's own. Output: how often 24 MiB were given in each of two rounds, the error, and whether the free memory
 * is as before. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
#define MOST 64
#define BYTES (24ull << 20)
/* A function of the driver by its name. */
#define CALL(name, ...) (((int (*)())function(#name))(__VA_ARGS__))
#define CHECK(call) do { int e_ = (call); if (e_) { printf("%s = %d\n", #call, e_); exit(1); } } while (0)

static void *driver;
static void *function(const char *name) {
    void *at = dlsym(driver, name);
    if (!at) { printf("no %s\n", name); exit(1); }
    return at;
}

static u64 all[MOST];
static void *stream, *pool, *context;

struct array { u64 width, height; unsigned format, channels; };
struct array3d { u64 width, height, depth; unsigned format, channels, flags; };
struct prop { unsigned kind, handles, place; int id; u64 rest[8]; };
struct node { unsigned kind, handles, place; int id; u64 rest[9]; u64 access, accesses, bytes, at; };

static int linear(int n) { return CALL(cuMemAlloc_v2, &all[n], BYTES); }
static int lines(int n) { u64 pitch; return CALL(cuMemAllocPitch_v2, &all[n], &pitch, 24 * 1000ull, 1024ull, 4); }
static int managed(int n) { return CALL(cuMemAllocManaged, &all[n], BYTES, 1); }
static int array(int n) { struct array d = {3072, 2048, 32, 1}; return CALL(cuArrayCreate_v2, &all[n], &d); }
static int array3d(int n) { struct array3d d = {256, 256, 24, 10, 4, 0}; return CALL(cuArray3DCreate_v2, &all[n], &d); }
static int mipmaps(int n) { struct array3d d = {2048, 2048, 0, 10, 1, 0}; return CALL(cuMipmappedArrayCreate, &all[n], &d, 2); }
static int pooled(int n) { return CALL(cuMemAllocAsync, &all[n], BYTES, stream); }
static int from_pool(int n) { return CALL(cuMemAllocFromPoolAsync, &all[n], BYTES, pool, stream); }
static int physical(int n) { struct prop p = {1, 1, 1, 0}; return CALL(cuMemCreate, &all[n], BYTES, &p, 0ull); }
static int exported(int n) {
    int file, e = physical(n);
    u64 same;
    if (e) return e;
    CHECK(CALL(cuMemExportToShareableHandle, &file, all[n], 1, 0ull));
    CHECK(CALL(cuMemImportFromShareableHandle, &same, (u64)file, 1));
    return CALL(cuMemRelease, same);
}
/* The handle is given back when the memory is mapped: it stays until it is unmapped. */
static int mapped(int n) {
    u64 handle;
    struct prop p = {1, 0, 1, 0};
    int e = CALL(cuMemCreate, &handle, BYTES, &p, 0ull);
    if (e) return e;
    CHECK(CALL(cuMemAddressReserve, &all[n], BYTES, 0ull, 0ull, 0ull));
    CHECK(CALL(cuMemMap, all[n], BYTES, 0ull, handle, 0ull));
    return CALL(cuMemRelease, handle);
}
/* Graphs whose memory stays: each has one node. */
static void *graphs[MOST], *executables[MOST];
static int node(int n) {
    void *added;
    struct node p = {1, 0, 1, 0};
    p.bytes = BYTES;
    CHECK(CALL(cuGraphCreate, &graphs[n], 0));
    CHECK(CALL(cuGraphAddMemAllocNode, &added, graphs[n], (void *)0, 0ull, &p));
    all[n] = p.at;
    CHECK(CALL(cuGraphInstantiateWithFlags, &executables[n], graphs[n], 0ull));
    return CALL(cuGraphLaunch, executables[n], stream);
}
static int captured(int n) {
    CHECK(CALL(cuStreamBeginCapture_v2, stream, 0));
    CHECK(CALL(cuMemAllocAsync, &all[n], BYTES, stream));
    CHECK(CALL(cuStreamEndCapture, stream, &graphs[n]));
    CHECK(CALL(cuGraphInstantiateWithFlags, &executables[n], graphs[n], 0ull));
    return CALL(cuGraphLaunch, executables[n], stream);
}
/* Memory of the host is not counted. */
static int host(int n) { return CALL(cuMemHostAlloc, &all[n], BYTES, 0); }
static int registered(int n) {
    void *at = 0;
    return posix_memalign(&at, 4096, 1 << 20) || CALL(cuMemHostRegister_v2, all[n] = (u64)at, 1ull << 20, 0);
}
/* The end of the context is the end of its memory. */
static int of_context(int n) { return n ? linear(n) : CALL(cuCtxCreate_v2, &context, 0, 0) || linear(n); }

static int gives(int n) { return CALL(cuMemFree_v2, all[n]); }
static int gives_array(int n) { return CALL(cuArrayDestroy, all[n]); }
static int gives_mipmaps(int n) { return CALL(cuMipmappedArrayDestroy, all[n]); }
static int gives_pooled(int n) { return CALL(cuMemFreeAsync, all[n], stream); }
static int gives_physical(int n) { return CALL(cuMemRelease, all[n]); }
static int unmaps(int n) { return CALL(cuMemUnmap, all[n], BYTES) || CALL(cuMemAddressFree, all[n], BYTES); }
static int ends_graph(int n) {
    return CALL(cuMemFree_v2, all[n]) || CALL(cuGraphExecDestroy, executables[n]) || CALL(cuGraphDestroy, graphs[n]) ||
           CALL(cuDeviceGraphMemTrim, 0);
}
static int gives_host(int n) { return CALL(cuMemFreeHost, all[n]); }
static int unregisters(int n) { return CALL(cuMemHostUnregister, all[n]); }
static int ends_context(int n) { return n ? 0 : CALL(cuCtxDestroy_v2, context); }

static const struct way { const char *name; int (*takes)(int), (*gives)(int); } ways[] = {
    {"cuMemAlloc", linear, gives}, {"cuMemAllocPitch", lines, gives}, {"cuMemAllocManaged", managed, gives},
    {"cuArrayCreate", array, gives_array}, {"cuArray3DCreate", array3d, gives_array},
    {"cuMipmappedArrayCreate", mipmaps, gives_mipmaps}, {"cuMemAllocAsync", pooled, gives_pooled},
    {"cuMemAllocFromPoolAsync", from_pool, gives_pooled}, {"cuMemCreate", physical, gives_physical},
    {"cuMemCreate, exported and imported", exported, gives_physical}, {"cuMemCreate, mapped", mapped, unmaps},
    {"cuGraphAddMemAllocNode", node, ends_graph}, {"cuMemAllocAsync, captured", captured, ends_graph},
    {"cuMemAlloc, to the end of the context", of_context, ends_context},
    {"cuMemHostAlloc", host, gives_host}, {"cuMemHostRegister", registered, unregisters},
};

static u64 free_bytes(void) {
    u64 bytes, total;
    CHECK(CALL(cuMemGetInfo_v2, &bytes, &total));
    return bytes;
}

int main(int count, char **words) {
    const struct way *way = &ways[atoi(words[1])];
    struct prop properties = {1, 0, 1, 0};
    int given[2], error = 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(CALL(cuInit, 0));
    CHECK(CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context));
    CHECK(CALL(cuStreamCreate, &stream, 1) || CALL(cuMemPoolCreate, &pool, &properties));
    u64 before = free_bytes();
    for (int round = 0; round < 2; round++) {
        int n = 0;
        while (n < MOST && !(error = way->takes(n))) n++;
        given[round] = n;
        if (way->takes == node || way->takes == captured) CALL(cuGraphExecDestroy, executables[n]), CALL(cuGraphDestroy, graphs[n]);
        for (int i = 0; i < n; i++) CHECK(way->gives(i));
        CHECK(CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context));
        CHECK(CALL(cuStreamSynchronize, stream));
    }
    printf("%-38s %2d %2d  error %d  %s\n", way->name, given[0], given[1], error, free_bytes() == before ? "all free" : "not all free");
    return 0;
}
