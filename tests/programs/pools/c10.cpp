// A stand-in for PyTorch's libc10.so: what its allocators tell the profiler, by the same symbols. It has another
// function, of which no slot may be made: its argument by value is larger than what a frame passes on.
#include <cstddef>
#include <cstdint>

struct Large { long word[64]; };

namespace c10 {
struct Device { int8_t type, index; };
static long told, refused, bytes;

void reportMemoryUsageToProfiler(void *block, int64_t size, size_t, size_t, Device device) {
    if (block && device.type == 1 && device.index < 2) told++, bytes += size;
}
void reportOutOfMemoryToProfiler(int64_t, size_t, size_t, Device device) { refused += device.type == 1; }
long sum(Large by_value, long last) {
    for (long word : by_value.word) last += word;
    return last;
}
}

extern "C" long c10_told() { return c10::told; }
extern "C" long c10_refused() { return c10::refused; }
extern "C" long c10_bytes() { return c10::bytes; }
