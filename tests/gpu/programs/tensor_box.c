/* A kernel that copies a box by a tensor map (`tensor` of launches.cubin), through the driver API: the same program for
 * NVIDIA's driver and for cutap's.
 *
 *     tensor_box launches.cubin [CLUSTER]
 *
 * CLUSTER is the width of a cluster; without it the launch names none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t dptr;
struct attribute {
    unsigned id, pad;
    unsigned value[16];
};
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct attribute *attributes;
    unsigned count;
};
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuCtxSetCurrent(void *ctx);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(dptr *out, size_t bytes);
int cuMemcpyHtoD_v2(dptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, dptr from, size_t bytes);
int cuMemsetD32_v2(dptr to, unsigned value, size_t count);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernelEx(const struct config *config, void *f, void **params, void **extra);
int cuTensorMapEncodeTiled(void *map, int kind, unsigned rank, void *address, const uint64_t *sides,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                           int swizzle, int promotion, int fill);

#define OK(call)                                                      \
    do {                                                              \
        int code_ = (call);                                           \
        if (code_ != 0) {                                             \
            printf("%s = %d (line %d)\n", #call, code_, __LINE__);    \
            exit(2);                                                  \
        }                                                             \
    } while (0)

enum { X = 100, Y = 40 };

int main(int argc, char **argv) {
    static unsigned values[X * Y], got[256];
    static char code[1 << 20];
    unsigned map[32] __attribute__((aligned(64)));
    setvbuf(stdout, NULL, _IONBF, 0);
    FILE *file = fopen(argv[1], "rb");
    if (!file || !fread(code, 1, sizeof code, file)) return 2;
    unsigned cluster = argc > 2 ? atoi(argv[2]) : 0;
    void *ctx, *module, *kernel;
    dptr tensor, out;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    OK(cuModuleLoadData(&module, code));
    OK(cuModuleGetFunction(&kernel, module, "tensor"));
    OK(cuMemAlloc_v2(&tensor, sizeof values));
    OK(cuMemAlloc_v2(&out, sizeof got));
    for (int n = 0; n < X * Y; n++) values[n] = n + 1;
    OK(cuMemcpyHtoD_v2(tensor, values, sizeof values));
    uint64_t sides[] = {X, Y}, strides[] = {X * 4};
    unsigned box[] = {32, 8}, steps[] = {1, 1};
    OK(cuTensorMapEncodeTiled(map, 2, 2, (void *)tensor, sides, strides, box, steps, 0, 0, 0, 0));
    /* The last one begins at no multiple of 16 bytes: the SM refuses it, which is error 715 with every driver. */
    int places[][2] = {{0, 0}, {32, 8}, {4, 3}, {88, 36}, {-4, -2}, {5, 3}};
    for (int n = 0; n < 6; n++) {
        int x = places[n][0], y = places[n][1], right = 0;
        struct attribute attribute = {4, 0, {cluster, 1, 1}};
        struct config config = {{cluster ? cluster : 1, 1, 1}, {256, 1, 1}, 0, NULL, &attribute, cluster != 0};
        void *params[] = {map, &out, &x, &y};
        OK(cuMemsetD32_v2(out, 0xdead, 256));
        OK(cuLaunchKernelEx(&config, kernel, params, NULL));
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH_v2(got, out, sizeof got));
        for (int at = 0; at < 256; at++) {
            int column = x + at % 32, line = y + at / 32;
            int inside = column >= 0 && column < X && line >= 0 && line < Y;
            right += got[at] == (inside ? column + line * X + 1u : 0u);
        }
        printf("box at %d, %d: %d of 256 right\n", x, y, right);
    }
    return 0;
}
