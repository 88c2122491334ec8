/* What a pool holds of the device: taken in steps, kept until the program waits; as driver 580 of an H100 and an H200 has it. */
#include "check.h"

#define MIB (1ull << 20)
static P s, context, pool;

static U value(int id) {
    U found = 7;
    OK(cuMemPoolGetAttribute, pool, id, &found);
    return found;
}

/* held and used now, in MiB; and as much less is free as is held */
static size_t all;
#define NOW(held, used) do { size_t free_; TRUE(value(5) == (held) * MIB && value(7) == (used)); \
    OK(cuMemGetInfo_v2, &free_, NUL); TRUE(all - free_ == (held) * MIB); } while (0)

static U new(U size) {
    U address;
    OK(cuMemAllocAsync, &address, SIZE(size), NUL);
    return address;
}
static void end(U address) { OK(cuMemFreeAsync, address, NUL); }

static void steps(void) {
    static const U sizes[][2] = {
        { 1, 32 }, { 513, 32 }, { 32 * MIB, 32 }, { 32 * MIB + 1, 64 }, { 64 * MIB, 64 }, { 65 * MIB, 96 },
        { 1024 * MIB + 1, 1056 },
    };
    NOW(0, 0);
    for (int i = 0; i < 7; i++) {
        U a = new(sizes[i][0]);
        NOW(sizes[i][1], sizes[i][0]);
        end(a);
        NOW(sizes[i][1], 0); /* it may be in use yet */
        OK(cuCtxSynchronize);
        NOW(0, 0);
    }
    TRUE(value(6) == 1056 * MIB && value(8) == 1024 * MIB + 1);
    U zero = 0;
    OK(cuMemPoolSetAttribute, pool, 8, &zero);
    TRUE(value(6) == 1056 * MIB && value(8) == 0);
    OK(cuMemPoolSetAttribute, pool, 6, &zero);
    TRUE(value(6) == 0);
}

static void kept(void) {
    U a = new(20 * MIB);
    NOW(32, 20 * MIB);
    U b = new(20 * MIB), c = new(20 * MIB);
    NOW(64, 60 * MIB);
    end(b);
    OK(cuStreamSynchronize, NUL);
    NOW(64, 40 * MIB);
    end(a);
    OK(cuStreamSynchronize, NUL);
    NOW(32, 20 * MIB);
    end(c);
    OK(cuMemPoolTrimTo, pool, SIZE(0));
    NOW(32, 0); /* not before it waits */
    P e;
    OK(cuEventCreate, &e, 2);
    OK(cuEventRecord, e, NUL);
    OK(cuEventSynchronize, e);
    NOW(0, 0);
    U keep = 40 * MIB;
    OK(cuMemPoolSetAttribute, pool, 4, &keep);
    end(new(100 * MIB));
    NOW(128, 0);
    OK(cuCtxSynchronize);
    NOW(32, 0); /* whole steps, no more than that */
    OK(cuMemPoolTrimTo, pool, SIZE(5 * MIB));
    NOW(32, 0); /* whole steps, no less than that */
    OK(cuMemPoolTrimTo, pool, SIZE(0));
    NOW(0, 0);
    keep = 0;
    OK(cuMemPoolSetAttribute, pool, 4, &keep);
}

/* What a pool holds is nobody else's, even if it has no use for it. */
static void exclusive(void) {
    U most = all / 10 * 7, other, third = all / 10 * 3 + 64 * MIB;
    end(new(most));
    IS(2, cuMemAlloc_v2, &other, SIZE(third));
    OK(cuCtxSynchronize);
    OK(cuMemAlloc_v2, &other, SIZE(third));
    IS(2, cuMemAllocAsync, &most, SIZE(most), NUL);
    TRUE(value(5) == 0 && value(7) == 0);
    OK(cuMemFree_v2, other);
    end(new(all / 10 * 6));
    end(new(all / 10 * 7)); /* of which most is there already */
    OK(cuCtxSynchronize);
    NOW(0, 0);
}

static U in_use(void) {
    size_t n;
    OK(cuMemGetInfo_v2, &n, NUL);
    return (all - n) / MIB;
}

/* A pool that is destroyed keeps what its allocations need until the last of them is freed and the program waits. */
static void destroyed(void) {
    unsigned props[64] = { 1, 0, 1, 0 };
    P standard = pool;
    U a, b, found;
    OK(cuMemPoolCreate, &pool, props);
    OK(cuMemAllocFromPoolAsync, &a, SIZE(4 * MIB), pool, NUL);
    OK(cuMemAllocFromPoolAsync, &b, SIZE(40 * MIB), pool, NUL);
    NOW(64, 44 * MIB);
    end(b);
    NOW(64, 4 * MIB);
    OK(cuMemPoolDestroy, pool);
    IS(1, cuMemPoolGetAttribute, pool, 5, &found);
    IS(1, cuMemAllocFromPoolAsync, &b, SIZE(MIB), pool, NUL);
    TRUE(in_use() == 32);
    OK(cuCtxSynchronize);
    TRUE(in_use() == 32);
    end(a);
    TRUE(in_use() == 32);
    OK(cuCtxSynchronize);
    TRUE(in_use() == 0);
    pool = standard;
}

int main(void) {
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    OK(cuDeviceGetDefaultMemPool, &pool, 0);
    OK(cuMemGetInfo_v2, &all, NUL);
    steps();
    kept();
    exclusive();
    destroyed();
    puts("all is well");
    return 0;
}
