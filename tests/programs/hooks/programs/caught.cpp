// Catches what a hook throws, and goes on; then throws itself behind a call that a hook answered.
#include <cstdio>
#include <initializer_list>
#ifdef RUNTIME
extern "C" int cudaMalloc(void **, size_t);
extern "C" int cudaGetDevice(int *);
static int allocate(size_t bytes) { void *p; return cudaMalloc(&p, bytes); }
#else
extern "C" int cuMemAlloc_v2(unsigned long long *, size_t);
static int allocate(size_t bytes) { unsigned long long p; return cuMemAlloc_v2(&p, bytes); }
#endif

// Another call, from further down the stack than the one that was left.
__attribute__((noinline)) static void deeper() {
#ifdef RUNTIME
    volatile char room[2000];
    room[0] = 1;
    int device;
    cudaGetDevice(&device);
    room[1] = (char)device;
#endif
}

struct Guard {
    const char *name;
    ~Guard() { std::printf("left %s\n", name); }
};

__attribute__((noinline)) static int one(size_t bytes, long a, long b, long c, long d, long e) {
    Guard guard{"one"};
    int code = allocate(bytes);
    if (a != 1 || b != 2 || c != 3 || d != 4 || e != 5)
        std::printf("a register is not as it was\n");
    if (code == 2)
        throw 2;
    return code;
}
int main() {
    for (size_t bytes : {64, 13, 64, 14, 64, 2000000, 64}) {
        try {
            std::printf("%zu bytes: %d\n", bytes, one(bytes, 1, 2, 3, 4, 5));
        } catch (int caught) {
            std::printf("%zu bytes: caught %d\n", bytes, caught);
            deeper();
        }
    }
}
