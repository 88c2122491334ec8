/* More arguments than registers: 11 words, 7 words, and 46 of which 40 are on the stack. */
//: exe arguments -Wl,-z,lazy -l:libcuda.so.1
#include "fixture.h"

#define W(n) (void *)(uintptr_t)n
int main(void) {
    for (int i = 0; i < 2; i++) { /* the first call binds, the second does not */
        CHECK(cuLaunchKernel(W(1), 2, 3, 4, 5, 6, 7, 8, W(9), W(10), W(11)) == 0);
        CHECK(cuFutureThing_v9(1, 2, 3, 4, 5, 6, 7) == 0);
        CHECK(cuFixtureMany(1, 2l, 3l, 4l, 5l, 6l, 7l, 8l, 9l, 10l, 11l, 12l, 13l, 14l, 15l, 16l, 17l, 18l, 19l, 20l, 21l, 22l, 23l,
                  24l, 25l, 26l, 27l, 28l, 29l, 30l, 31l, 32l, 33l, 34l, 35l, 36l, 37l, 38l, 39l, 40l, 41l, 42l, 43l, 44l, 45l, 46l) == 0);
    }
    CHECK(cuLaunchKernel(W(1), 2, 3, 4, 5, 6, 7, 8, W(9), W(10), W(12)) == 1);
    puts("ok");
}
