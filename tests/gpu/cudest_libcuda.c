/* The measurements of `hopper` (crates/cudest/examples) through libcuda: the same kernels, sizes and loops.
 * usage: cudest_libcuda CUBIN first|launch|streams|graph|bandwidth|use|attributes   prints name=value pairs */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
#define F(name, ...) static int (*name)(__VA_ARGS__)
F(cuInit, unsigned); F(cuDeviceGetAttribute, int *, int, int); F(cuDevicePrimaryCtxRetain, void **, int); F(cuCtxSetCurrent, void *); F(cuCtxSynchronize, void);
F(cuModuleLoadData, void **, const void *); F(cuModuleGetFunction, void **, void *, const char *);
F(cuMemAlloc_v2, uint64_t *, size_t); F(cuMemAllocHost_v2, void **, size_t);
F(cuMemcpyHtoD_v2, uint64_t, const void *, size_t); F(cuMemcpyDtoH_v2, void *, uint64_t, size_t);
F(cuMemcpyHtoDAsync_v2, uint64_t, const void *, size_t, void *); F(cuMemcpyDtoHAsync_v2, void *, uint64_t, size_t, void *);
F(cuMemcpyDtoDAsync_v2, uint64_t, uint64_t, size_t, void *);
F(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
F(cuStreamCreate, void **, unsigned); F(cuStreamSynchronize, void *); F(cuEventCreate, void **, unsigned); F(cuEventRecord, void *, void *);
F(cuStreamBeginCapture_v2, void *, int); F(cuStreamEndCapture, void *, void **); F(cuGraphInstantiateWithFlags, void **, void *, unsigned long long);
F(cuGraphLaunch, void *, void *);
#define CK(x) do { int r_ = (x); if (r_) { fprintf(stderr, "%s -> %d\n", #x, r_); exit(2); } } while (0)
static int up(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }
static double median(double *v, int n) { qsort(v, n, sizeof *v, up); return v[n / 2]; }

int main(int c, char **v)
{
    double t0 = now();
    if (c < 3) return 2;
    void *h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!h) { puts(dlerror()); return 2; }
#define L(n) do { n = dlsym(h, #n); if (!n) { puts("no " #n); return 2; } } while (0)
    L(cuInit); L(cuDevicePrimaryCtxRetain); L(cuCtxSetCurrent); L(cuCtxSynchronize); L(cuModuleLoadData); L(cuModuleGetFunction);
    L(cuMemAlloc_v2); L(cuMemAllocHost_v2); L(cuMemcpyHtoD_v2); L(cuMemcpyDtoH_v2); L(cuMemcpyHtoDAsync_v2); L(cuMemcpyDtoHAsync_v2);
    L(cuMemcpyDtoDAsync_v2); L(cuLaunchKernel); L(cuStreamCreate); L(cuStreamSynchronize); L(cuEventCreate); L(cuEventRecord);
    L(cuDeviceGetAttribute);
    if (!strcmp(v[2], "attributes")) {
        CK(cuInit(0));
        for (int id = 1, value; id < 200; id++) if (!cuDeviceGetAttribute(&value, id, 0)) printf("%d=%d\n", id, value);
        return 0;
    }
    FILE *f = fopen(v[1], "rb"); static char bin[1 << 20]; size_t bl = fread(bin, 1, sizeof bin, f); (void)bl; fclose(f);
    void *ctx, *mod, *add, *nothing, *st[16]; uint64_t A; unsigned n = 65536;
    CK(cuInit(0)); CK(cuDevicePrimaryCtxRetain(&ctx, 0)); CK(cuCtxSetCurrent(ctx));
    CK(cuModuleLoadData(&mod, bin)); CK(cuModuleGetFunction(&add, mod, "vecadd")); CK(cuModuleGetFunction(&nothing, mod, "nothing"));
    if (!strcmp(v[2], "first")) {
        uint64_t B, C; float *a = malloc(4 * n), *b = malloc(4 * n), *o = calloc(n, 4); int bad = 0;
        for (unsigned i = 0; i < n; i++) { a[i] = i; b[i] = 2 * i + 1; }
        CK(cuMemAlloc_v2(&A, 4 * n)); CK(cuMemAlloc_v2(&B, 4 * n)); CK(cuMemAlloc_v2(&C, 4 * n));
        CK(cuMemcpyHtoD_v2(A, a, 4 * n)); CK(cuMemcpyHtoD_v2(B, b, 4 * n));
        void *args[] = { &A, &B, &C, &n };
        CK(cuLaunchKernel(add, n / 256, 1, 1, 256, 1, 1, 0, 0, args, 0)); CK(cuMemcpyDtoH_v2(o, C, 4 * n));
        double t = now() - t0;
        for (unsigned i = 0; i < n; i++) bad += o[i] != a[i] + b[i];
        printf("first=%.2f bad=%d\n", t / 1e3, bad); return bad != 0;
    }
    for (int i = 0; i < 16; i++) CK(cuStreamCreate(&st[i], 1));
    CK(cuMemAlloc_v2(&A, 1 << 20));
    uint64_t B = A + 4096, C = A + 8192; n = 256; void *args[] = { &A, &B, &C, &n }; double w[16], q[16];
#define ONE(s) CK(cuLaunchKernel(add, 1, 1, 1, 256, 1, 1, 0, s, args, 0))
    if (!strcmp(v[2], "use")) {
        printf("with 16 streams, in MiB: "); fflush(stdout);
        int r = system("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits; grep VmRSS /proc/$PPID/status"); (void)r;
    }
    if (!strcmp(v[2], "launch")) {
        for (int i = 0; i < 100; i++) ONE(st[0]);
        CK(cuStreamSynchronize(st[0]));
        for (int r = 0; r < 7; r++) {
            double t = now(); for (int i = 0; i < 200; i++) { ONE(st[0]); CK(cuStreamSynchronize(st[0])); } w[r] = (now() - t) / 200;
            t = now(); for (int i = 0; i < 200; i++) ONE(st[0]); q[r] = (now() - t) / 200; CK(cuStreamSynchronize(st[0]));
        }
        double t = now(); for (int i = 0; i < 20000; i++) ONE(st[0]); CK(cuStreamSynchronize(st[0])); double all = (now() - t) / 20000;
        void *e; CK(cuEventCreate(&e, 0)); t = now(); for (int i = 0; i < 400; i++) CK(cuEventRecord(e, st[0])); double rec = (now() - t) / 400;
        CK(cuStreamSynchronize(st[0]));
        printf("launch_wait=%.2f launch_call=%.2f queued=%.2f record=%.2f\n", median(w, 7), median(q, 7), all, rec);
    }
    if (!strcmp(v[2], "graph")) {
        /* 20 launches in a row, each after the one before. */
        void *graph, *exec; double per_call[7];
        L(cuStreamBeginCapture_v2); L(cuStreamEndCapture); L(cuGraphInstantiateWithFlags); L(cuGraphLaunch);
        CK(cuStreamBeginCapture_v2(st[0], 0)); for (int i = 0; i < 20; i++) ONE(st[0]); CK(cuStreamEndCapture(st[0], &graph));
        CK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        for (int i = 0; i < 20; i++) CK(cuGraphLaunch(exec, st[0]));
        CK(cuStreamSynchronize(st[0]));
        for (int r = 0; r < 7; r++) {
            double t = now(); for (int i = 0; i < 50; i++) { CK(cuGraphLaunch(exec, st[0])); CK(cuStreamSynchronize(st[0])); } w[r] = (now() - t) / 50;
            t = now(); for (int i = 0; i < 20; i++) CK(cuGraphLaunch(exec, st[0])); per_call[r] = (now() - t) / 20;
            CK(cuStreamSynchronize(st[0])); q[r] = (now() - t) / 20;
        }
        printf("graph_wait=%.2f graph_call=%.2f graph_each=%.2f\n", median(w, 7), median(per_call, 7), median(q, 7));
    }
    if (!strcmp(v[2], "streams")) {
        uint64_t z = 0; void *no[] = { &z };
        for (int k = 1; k <= 16; k += 15) for (int r = 0; r < 2; r++) {
            double t = now(); for (int i = 0; i < 16000; i++) CK(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, st[i % k], no, 0)); CK(cuCtxSynchronize());
            if (r) printf("ordered_%d=%.0f ", k, 16000 / (now() - t) * 1e6);
        }
        puts("");
    }
    if (!strcmp(v[2], "bandwidth")) {
        size_t most = 256 << 20; void *p; uint64_t x, y; char *page = malloc(64 << 20); memset(page, 1, 64 << 20);
        CK(cuMemAllocHost_v2(&p, most)); CK(cuMemAlloc_v2(&x, most)); CK(cuMemAlloc_v2(&y, most)); void *s = st[0];
        static const struct { const char *n; size_t z; } sz[] = { { "4k", 4096 }, { "64k", 65536 }, { "1m", 1 << 20 }, { "16m", 16 << 20 }, { "256m", 256 << 20 } };
        for (int i = 0; i < 5; i++) for (int way = 0; way < 3; way++) {
            for (int r = 0; r < 7; r++) {
                double t = now();
                if (way == 0) CK(cuMemcpyHtoDAsync_v2(x, p, sz[i].z, s)); else if (way == 1) CK(cuMemcpyDtoHAsync_v2(p, x, sz[i].z, s)); else CK(cuMemcpyDtoDAsync_v2(y, x, sz[i].z, s));
                CK(cuStreamSynchronize(s)); w[r] = now() - t;
            }
            printf("%s_%s=%.1f ", way == 0 ? "h2d" : way == 1 ? "d2h" : "d2d", sz[i].n, median(w, 7));
        }
        for (int i = 0; i < 4; i++) {
            size_t z = i < 2 ? 1 << 20 : 64 << 20;
            for (int r = 0; r < 5; r++) { double t = now(); if (i & 1) CK(cuMemcpyDtoH_v2(page, x, z)); else CK(cuMemcpyHtoD_v2(x, page, z)); w[r] = now() - t; }
            printf("page_%s_%zum=%.1f ", i & 1 ? "d2h" : "h2d", z >> 20, median(w, 5));
        }
        puts("");
    }
    return 0;
}
