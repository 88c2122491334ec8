// A C++ exception thrown in a callback, through a traced call, also from inside a second one; and one caught inside.
//: exe exception -fexceptions -l:libcuda.so.1
#include "fixture.h"

static void throws(void *data) {
    CUdeviceptr p;
    CHECK(cuMemAlloc_v2(&p, 64) == 0);
    throw (int)(intptr_t)data;
}
static void calls_deeper(void *data) { cuFixtureCall(throws, data); }
static void catches(void *data) {
    try { cuFixtureCall(throws, data); } catch (int caught) { CHECK(caught == (int)(intptr_t)data); }
    CHECK(cuMemFree_v2(1) == 0);
}
int main() {
    int caught = 0;
    try { cuFixtureCall(throws, (void *)7); } catch (int c) { caught = c; }
    CHECK(caught == 7 && cuInit(0) == 0);
    try { cuFixtureCall(calls_deeper, (void *)8); } catch (int c) { caught = c; }
    CHECK(caught == 8 && cuInit(0) == 0);
    try { cuLaunchKernel((void *)throws, 77, 0, 0, 0, 0, 0, 0, (void *)9, 0, 0); } catch (int c) { caught = c; }
    CHECK(caught == 9 && cuInit(0) == 0);
    CHECK(cuFixtureCall(catches, (void *)10) == 0);
    CHECK(cuInit(0) == 0);
    puts("ok");
}
