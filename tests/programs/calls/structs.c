/* Structs: 64 bytes by value (eight stack words), by pointer, as a result in rax:rdx and through a hidden pointer. */
//: exe structs -Wl,-z,lazy -l:libcuda.so.1 -l:libcurand.so.10
#include "fixture.h"

int main(void) {
    for (int i = 0; i < 2; i++) {
        CUipcMemHandle h;
        CUdeviceptr p = 0;
        CHECK(cuIpcGetMemHandle(&h, 3) == 0 && h.reserved[0] == 3 && h.reserved[63] == 3);
        h.reserved[63] = 5;
        CHECK(cuIpcOpenMemHandle_v2(&p, h, 1000) == 0 && p == 63 * 3 + 5 + 1000);
        struct two_words w = curandFixtureTwoWords(0x1111222233334444, -5);
        CHECK(w.a == -5 && w.b == 0x1111222233334444);
        struct big b = {{1, 2, 3, 4, 5, 6, 7, 8}}, c = curandFixtureBig(b, 10);
        for (int k = 0; k < 8; k++) CHECK(b.word[k] == k + 1 && c.word[k] == k + 11);
    }
    puts("ok");
}
