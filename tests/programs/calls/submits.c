/* A driver submits work as libcuda does: commands, an entry of a ring, its place in USERD. Wrong: an entry shown twice or not at all, under another call; a ring that begins anew not followed; memory read that is not mapped any
 * more; words shown that the driver did not write. The program stands for the kernel driver. */
//: lib libsubmits.so -DLIBRARY -DENTRIES=4 -Wl,-soname,libcuda.so.1
//: lib libsubmits_many.so -DLIBRARY -DENTRIES=1024 -Wl,-soname,libcuda.so.1 -pthread
//: exe submits -rdynamic -ldl -pthread
#define cuLaunchKernel fixture_launch
#define cuMemFree_v2 fixture_free
#define cuInit fixture_init
#include "fixture.h"
#undef cuLaunchKernel
#undef cuMemFree_v2
#undef cuInit
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

typedef uint32_t u32; typedef uint64_t u64;
#ifdef LIBRARY
enum { ROOT = 0xc1d00001, RING = 0x5c000017, STREAM = 0x5c000019, CHANNEL = 0x5c00001c, WORDS = 8192 };
static const u64 ring_at = 0x200600000, stream_at = 0x200800000, descriptor_at = 0x200804000;
static u32 *ring, *stream, words, put; static int ctl, uvm; static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t meeting;
static void *map(u32 memory, u64 at, u64 bytes) {
    int fd = open("/dev/nvidia0", O_RDWR);
    u64 made[6] = {ROOT | (u64)ROOT << 32, memory | (u64)0x3e << 32};
    u32 maps[14] = {ROOT, 0, memory, 0, 0, 0, bytes, 0, 0, 0, 0, 0, fd}, external[2316] = {at, at >> 32, bytes};
    CHECK(ioctl(ctl, _IOWR('F', 0x2b, u64[6]), made) == 0 && ioctl(ctl, _IOWR('F', 0x4e, u32[14]), maps) == 0);
    void *here = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    external[2313] = ROOT, external[2314] = memory;
    CHECK(here != MAP_FAILED && ioctl(uvm, 33, external) == 0 && !close(fd));
    return here;
}
static void word(u32 value) { stream[words++] = value; }
static void method(u32 subchannel, u32 at, u32 count) { word(1u << 29 | count << 16 | subchannel << 13 | at >> 2); }
static void send(u64 at, u32 length) {
    ring[put * 2] = at, ring[put * 2 + 1] = at >> 32 | length << 10;
    ring[ENTRIES * 2 + 0x8c / 4] = put = (put + 1) % ENTRIES;
}
static void write_to(u64 at, const void *from, u32 bytes) {
    method(1, 0x188, 2), word(at >> 32), word(at), method(1, 0x180, 2), word(bytes), word(1), method(1, 0x1b0, 1), word(0x41);
    word(3u << 29 | bytes / 4 << 16 | 1 << 13 | 0x1b4 >> 2), memcpy(stream + words, from, bytes), words += bytes / 4;
}
int cuInit(unsigned flags) {
    ctl = open("/dev/nvidiactl", O_RDWR), uvm = open("/dev/nvidia-uvm", O_RDWR);
    ring = map(RING, ring_at, 16384), stream = map(STREAM, stream_at, 32768);
    u32 channel[92] = {0, 0, (u32)ring_at, ring_at >> 32, ENTRIES, 0, 0, 0, RING, [16] = ENTRIES * 8};
    u64 alloc[6] = {ROOT | (u64)ROOT << 32, CHANNEL | (u64)0xc86f << 32, (u64)channel};
    CHECK(ioctl(ctl, _IOWR('F', 0x2b, u64[6]), alloc) == 0);
    method(1, 0, 1), word(0xcbc0), method(4, 0, 1), word(0xc8b5), send(stream_at, words);
    return flags;
}
int cuLaunchKernel(u64 f, u32 x, u32 y, u32 z, u32 bx, u32 by, u32 bz, u32 shared, void *on, void **params, void **extra) {
    u32 from = words, qmd[96] = {[0] = 2 << 23, [13] = 1, [18] = 4 << 4 | shared << 8, [32] = x, y, z, [36] = bx | by << 16, bz | 16 << 16, 0x177a0000, 0x7fc3, [48] = 0x10000, 0x30 << 19};
    if (params) write_to(0x400210, params[0], 8);
    if (f == 2) memcpy((char *)stream + (descriptor_at - stream_at), qmd, sizeof qmd);
    else write_to(descriptor_at, qmd, sizeof qmd);
    method(1, 0x2b4, 1), word(descriptor_at >> 8), send(stream_at + from * 4, words - from);
    return on || extra;
}
int cuMemcpyDtoD_v2(u64 to, u64 from, size_t bytes) {
    pthread_mutex_lock(&one);
    if (words + 9 > WORDS) words = 0;
    u32 first = words;
    method(4, 0x400, 4), word(from >> 32), word(from), word(to >> 32), word(to), method(4, 0x418, 1), word(bytes), method(4, 0x300, 1), word(0x182), send(stream_at + first * 4, words - first);
    pthread_mutex_unlock(&one);
    if (bytes == 65) pthread_barrier_wait(&meeting); // All threads are in this call at once.
    return 0;
}
int cuEventRecord(void *event, void *on) { send(0x300000000, 7); return event || on; }
int cuEventSynchronize(void *event) { while (!*(volatile char *)event) usleep(100); return 0; }
int cuMemFree_v2(u64 at) { return munmap(stream, 32768) | (at != stream_at); }
// No function that submits, as far as cutap knows: what it submits was there before the next call.
int cuCtxGetDevice(int *device) {
    u32 first = words;
    method(1, 0x1b00, 4), word(2), word(0x0460fff0), word(7), word(0), send(stream_at + first * 4, words - first);
    return *device = 0;
}
#else
#define CALL(name, ...) CHECK(((int (*)())dlsym(library, #name))(__VA_ARGS__) == 0)
static void *library; static char flag;
int open(const char *path, int flags, ...) {
    (void)flags;
    if (strncmp(path, "/dev/nvidia", 11)) return syscall(257, AT_FDCWD, path, O_RDONLY, 0);
    int fd = memfd_create(path, 0);
    return ftruncate(fd, 1 << 16), fd;
}
int ioctl(int fd, unsigned long request, ...) { return (void)request, fd < 0; }
static void *waits(void *unused) { CALL(cuEventSynchronize, &flag); return unused; }
static u64 together;
static void *copies(void *number) { // Each to its own address, which says the thread and the copy.
    for (u64 n = 0; n < 400; n++) {
        u64 to = 0x7f0000000000 + ((u64)number << 32) + n * 64;
        CALL(cuMemcpyDtoD_v2, to, 0x7e0000000000ul, n == 200 && together ? 65ul : 64ul);
    }
    return 0;
}
static int threads(u64 count) { // One thread, then several at the same time, then one.
    pthread_t all[8];
    CHECK((library = dlopen("libsubmits_many.so", RTLD_NOW)) && count <= 8);
    CALL(cuInit, 0);
    copies(0);
    CHECK(pthread_barrier_init(dlsym(library, "meeting"), 0, together = count) == 0);
    for (u64 n = 0; n < count; n++) CHECK(pthread_create(all + n, 0, copies, (void *)(n + 1)) == 0);
    for (u64 n = 0; n < count; n++) CHECK(pthread_join(all[n], 0) == 0);
    together = 0;
    copies((void *)(count + 1));
    return puts("ok") < 0;
}
int main(int argc, char **argv) {
    if (argc > 1) return threads(atoi(argv[1]));
    u64 value = 0x1122334455667788; void *params[] = {&value}; pthread_t other; int device;
    CHECK((library = dlopen("libsubmits.so", RTLD_NOW)));
    CALL(cuInit, 0);
    CALL(cuCtxGetDevice, &device);
    CALL(cuLaunchKernel, 1ul, 7, 5, 3, 32, 2, 1, 0x400, (void *)0, params, (void *)0);
    CALL(cuLaunchKernel, 2ul, 9, 1, 1, 64, 1, 1, 0x800, (void *)0, (void *)0, (void *)0);
    CALL(cuMemcpyDtoD_v2, 0x7f0000002000ul, 0x7f0000001000ul, 4096ul);
    CALL(cuEventRecord, (void *)0, (void *)0);
    CHECK(pthread_create(&other, 0, waits, 0) == 0 && usleep(200000) == 0);
    CALL(cuMemcpyDtoD_v2, 0x7f0000004000ul, 0x7f0000003000ul, 64ul);
    flag = 1;
    CHECK(pthread_join(other, 0) == 0);
    CALL(cuMemcpyDtoD_v2, 0x7f0000006000ul, 0x7f0000005000ul, 32ul);
    CALL(cuMemFree_v2, 0x200800000ul);
    CALL(cuEventRecord, (void *)0, (void *)0);
    puts("ok");
}
#endif
