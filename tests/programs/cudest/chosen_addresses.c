/* Memory at chosen addresses, as PyTorch's expandable segments use it: addresses are reserved, pieces of memory come and
 * go there. It prints what is right, the same with every driver. The prototypes are written out, so that no header of
 * CUDA is needed.
 *
 *     chosen_addresses CUBIN [computed]
 *
 * With `computed` a kernel works on the memory too: on a GPU. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t dptr;
struct properties {
    unsigned type, handles, place;
    int id;
    void *metadata;
    unsigned char flags[8];
};
struct location {
    unsigned place;
    int id;
};
struct access {
    struct location location;
    unsigned flags;
};
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuCtxSetCurrent(void *ctx);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(dptr *out, size_t bytes);
int cuMemFree_v2(dptr p);
int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, int option);
int cuMemCreate(uint64_t *handle, size_t size, const void *properties, unsigned long long flags);
int cuMemRelease(uint64_t handle);
int cuMemAddressReserve(dptr *out, size_t size, size_t alignment, dptr hint, unsigned long long flags);
int cuMemAddressFree(dptr p, size_t size);
int cuMemMap(dptr p, size_t size, size_t offset, uint64_t handle, unsigned long long flags);
int cuMemUnmap(dptr p, size_t size);
int cuMemSetAccess(dptr p, size_t size, const void *access, size_t count);
int cuMemGetAccess(unsigned long long *flags, const void *location, dptr p);
int cuMemRetainAllocationHandle(uint64_t *handle, void *p);
int cuMemGetAllocationPropertiesFromHandle(void *properties, uint64_t handle);
int cuMemcpyHtoD_v2(dptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, dptr from, size_t bytes);
int cuMemcpyDtoD_v2(dptr to, dptr from, size_t bytes);
int cuMemsetD32_v2(dptr to, unsigned value, size_t count);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra);

#define OK(call)                                                      \
    do {                                                              \
        int code_ = (call);                                           \
        if (code_ != 0) {                                             \
            printf("%s = %d (line %d)\n", #call, code_, __LINE__);    \
            exit(2);                                                  \
        }                                                             \
    } while (0)

enum { MIB = 1 << 20, PIECE = 2 * MIB, ALL = 4 * PIECE, WORDS = ALL / 4, WINDOW = 16384, HALF = WINDOW / 2 };
static unsigned sent[WORDS], got[WORDS];

/* A window of words: `value`, `value + 1`, ... */
static void put(dptr at, unsigned value) {
    for (int n = 0; n < WINDOW; n++) sent[n] = value + n;
    OK(cuMemcpyHtoD_v2(at, sent, WINDOW * 4));
}

static void get(dptr at) { OK(cuMemcpyDtoH_v2(got, at, WINDOW * 4)); }

/* Whether words of the window from `first` on are `value`, `value + 1`, ... */
static int in_order(int first, int count, unsigned value) {
    int right = 0;
    for (int n = 0; n < count; n++) right += got[first + n] == value + n;
    return right == count;
}

static int is_window(dptr at, unsigned value) {
    get(at);
    return in_order(0, WINDOW, value);
}

static void *file_content(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    static char bytes[4 * MIB];
    if (!fread(bytes, 1, sizeof bytes, file)) exit(2);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    void *ctx, *module, *add;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    struct properties properties = {1, 0, 1, 0, NULL, {0}}, same;
    struct access both = {{1, 0}, 3}, none = {{1, 0}, 0};
    size_t granule;
    OK(cuMemGetAllocationGranularity(&granule, &properties, 0));
    printf("granule: %zu\n", granule);
    dptr base;
    uint64_t piece[4], again;
    OK(cuMemAddressReserve(&base, ALL, 0, 0, 0));
    for (int n = 0; n < 4; n++) OK(cuMemCreate(&piece[n], PIECE, &properties, 0));
    for (int n = 0; n < 3; n++) OK(cuMemMap(base + n * PIECE, PIECE, 0, piece[n], 0));
    printf("mapped twice: %d\n", cuMemMap(base, PIECE, 0, piece[3], 0));
    unsigned long long flags = 9;
    OK(cuMemGetAccess(&flags, &both.location, base));
    printf("access before: %llu\n", flags);
    OK(cuMemSetAccess(base, 3 * PIECE, &both, 1));
    OK(cuMemGetAccess(&flags, &both.location, base + PIECE + 5));
    printf("access: %llu\n", flags);
    OK(cuMemRetainAllocationHandle(&again, (void *)(base + PIECE)));
    OK(cuMemGetAllocationPropertiesFromHandle(&same, again));
    printf("the same piece: %d, on device %d\n", again == piece[1], same.id);
    OK(cuMemRelease(again));

    /* Windows at the first address, and across both borders. */
    dptr first = base, second = base + PIECE - HALF * 4, third = base + 2 * PIECE - HALF * 4;
    put(first, 0), put(second, 100000), put(third, 200000);
    printf("three pieces are one range: %d\n", is_window(first, 0) && is_window(second, 100000) && is_window(third, 200000));
    printf("beyond the pieces: %d\n", cuMemcpyDtoH_v2(got, base + 3 * PIECE - 4, 8));
    /* The last piece grows the range. */
    OK(cuMemMap(base + 3 * PIECE, PIECE, 0, piece[3], 0));
    OK(cuMemSetAccess(base + 3 * PIECE, PIECE, &both, 1));
    OK(cuMemsetD32_v2(base + 3 * PIECE - HALF * 4, 7, WINDOW));
    get(base + 3 * PIECE - HALF * 4);
    int sevens = 0;
    for (int n = 0; n < WINDOW; n++) sevens += got[n] == 7;
    printf("four pieces: %d %d\n", is_window(third, 200000), sevens == WINDOW);

    /* A piece moves to another place, and another one takes its place at once. */
    OK(cuMemUnmap(base, 2 * PIECE));
    OK(cuMemMap(base, PIECE, 0, piece[1], 0));
    OK(cuMemMap(base + PIECE, PIECE, 0, piece[0], 0));
    OK(cuMemSetAccess(base, 2 * PIECE, &both, 1));
    get(second);
    printf("changed places: %d %d\n", in_order(0, HALF, 200000), in_order(HALF, HALF, 0));
    /* A piece at two places. */
    dptr other;
    OK(cuMemAddressReserve(&other, PIECE, PIECE, 0, 0));
    OK(cuMemMap(other, PIECE, 0, piece[3], 0));
    OK(cuMemSetAccess(other, PIECE, &both, 1));
    OK(cuMemsetD32_v2(other, 8, 4));
    get(base + 3 * PIECE);
    printf("at two places: %u %u\n", got[3], got[4]);
    OK(cuMemUnmap(other, PIECE));
    OK(cuMemAddressFree(other, PIECE));
    /* Access is taken and given. The content stays. */
    OK(cuMemSetAccess(base, PIECE, &none, 1));
    printf("without access: %d\n", cuMemcpyDtoH_v2(got, base, 4));
    OK(cuMemSetAccess(base, PIECE, &both, 1));
    get(base);
    printf("with access again: %d\n", in_order(0, HALF, 100000 + HALF));
    if (argc > 2 && strcmp(argv[2], "computed") == 0) {
        int n = PIECE / 2, right = 0;
        float *floats = (float *)got;
        dptr a = base, b = base + 2 * PIECE, c;
        for (int i = 0; i < WORDS; i++) ((float *)sent)[i] = i % 1000;
        OK(cuMemAlloc_v2(&c, n * 4));
        OK(cuMemcpyHtoD_v2(base, sent, ALL));
        OK(cuModuleLoadData(&module, file_content(argv[1])));
        OK(cuModuleGetFunction(&add, module, "vecadd"));
        void *params[] = {&a, &b, &c, &n};
        OK(cuLaunchKernel(add, n / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
        OK(cuMemcpyDtoH_v2(got, c, n * 4));
        for (int i = 0; i < n; i++) right += floats[i] == i % 1000 + (n + i) % 1000;
        printf("sums right: %d\n", right == n);
        OK(cuMemFree_v2(c));
    }
    printf("in use: %d\n", cuMemAddressFree(base, ALL));
    OK(cuMemUnmap(base, ALL));
    for (int n = 0; n < 4; n++) OK(cuMemRelease(piece[n]));
    printf("released: %d\n", cuMemRelease(piece[0]));
    OK(cuMemAddressFree(base, ALL));
    /* More than any GPU has, a piece at a time: what is released is free again. */
    size_t large = (size_t)8 << 30;
    for (int round = 0; round < 40; round++) {
        OK(cuMemCreate(&piece[0], large, &properties, 0));
        OK(cuMemAddressReserve(&base, large, 0, 0, 0));
        OK(cuMemMap(base, large, 0, piece[0], 0));
        OK(cuMemRelease(piece[0]));
        OK(cuMemSetAccess(base, large, &both, 1));
        OK(cuMemsetD32_v2(base + large - 16, round, 4));
        OK(cuMemUnmap(base, large));
        OK(cuMemAddressFree(base, large));
    }
    puts("done");
    return 7;
}
