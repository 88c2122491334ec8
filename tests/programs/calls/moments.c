/* Says of each of its calls between which moments of its own clock it was made. */
//: exe moments -l:libcuda.so.1
#include "fixture.h"
#include <stdint.h>
#include <time.h>

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(void) {
    for (int i = 0; i < 300; i++) {
        uint64_t before = now();
        CHECK(cuInit(0) == 0);
        uint64_t after = now();
        printf("%llu %llu\n", (unsigned long long)before, (unsigned long long)after);
    }
    return 0;
}
