// A stand-in for PyTorch's libc10_cuda.so: an allocator that has 2 MiB at a time of CUDA, hands out blocks of a
// multiple of 512 bytes, and keeps what it gets back. It tells libc10.so of each block, as PyTorch's does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <vector>

struct Large { long word[64]; };
namespace c10 {
struct Device { int8_t type, index; };
void reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, Device);
void reportOutOfMemoryToProfiler(int64_t, size_t, size_t, Device);
long sum(Large, long);
}

static const size_t SEGMENT = 2 << 20, MOST = 64 << 20;
static std::mutex lock;
struct Pool {
    size_t live, peak, reserved;
    uintptr_t next, end;
    std::map<uintptr_t, size_t> blocks;
    std::map<size_t, std::vector<uintptr_t>> idle;
};
static Pool pools[2];

static uintptr_t from_cuda(size_t size) {
    static auto allocate = (int (*)(uintptr_t *, size_t))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
    uintptr_t place = 0;
    if (!allocate || allocate(&place, size)) abort();
    return place;
}

extern "C" uintptr_t pool_malloc(size_t size, int device) {
    std::lock_guard<std::mutex> held(lock);
    Pool &pool = pools[device];
    size = (size + 511) & ~(size_t)511;
    auto &idle = pool.idle[size];
    uintptr_t block;
    if (!idle.empty()) block = idle.back(), idle.pop_back();
    else {
        if (pool.next + size > pool.end) {
            size_t segment = size > SEGMENT ? size : SEGMENT;
            if (pool.reserved + segment > MOST) {
                c10::reportOutOfMemoryToProfiler((int64_t)size, pool.live, pool.reserved, {1, (int8_t)device});
                return 0;
            }
            pool.next = from_cuda(segment), pool.end = pool.next + segment, pool.reserved += segment;
        }
        block = pool.next, pool.next += size;
    }
    pool.blocks[block] = size, pool.live += size;
    if (pool.live > pool.peak) pool.peak = pool.live;
    c10::reportMemoryUsageToProfiler((void *)block, (int64_t)size, pool.live, pool.reserved, {1, (int8_t)device});
    return block;
}

extern "C" void pool_free(uintptr_t block, int device) {
    std::lock_guard<std::mutex> held(lock);
    Pool &pool = pools[device];
    size_t size = pool.blocks[block];
    pool.blocks.erase(block), pool.live -= size, pool.idle[size].push_back(block);
    c10::reportMemoryUsageToProfiler((void *)block, -(int64_t)size, pool.live, pool.reserved, {1, (int8_t)device});
}

extern "C" size_t pool_peak(int device) { return pools[device].peak; }
extern "C" size_t pool_reserved(int device) { return pools[device].reserved; }
extern "C" long pool_sum(long last) { Large large = {{1, 2, 3}}; return c10::sum(large, last); }
