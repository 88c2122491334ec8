/* longjmp out of a callback, through a traced call and through two of them. */
//: exe longjmp -l:libcuda.so.1
#include "fixture.h"
#include <setjmp.h>

static jmp_buf out;
static void jumps(void *data) {
    CUdeviceptr p;
    CHECK(cuMemAlloc_v2(&p, 64) == 0);
    longjmp(out, (int)(intptr_t)data);
}
static void deeper(void *data) { cuFixtureCall(jumps, data); }

int main(void) {
    int came = setjmp(out);
    if (came == 0) cuFixtureCall(jumps, (void *)1);
    if (came == 1) {
        CHECK(cuInit(0) == 0);
        cuFixtureCall(deeper, (void *)2);
    }
    CHECK(came == 2 && cuInit(0) == 0 && cuMemFree_v2(1) == 0);
    puts("ok");
}
