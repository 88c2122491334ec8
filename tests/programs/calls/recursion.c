/* Calls within calls, 40 deep: the tree is as deep, and the stack is enough. */
//: exe recursion -l:libcuda.so.1
#include "fixture.h"

static void deeper(void *data) {
    long left = (long)data;
    if (left) CHECK(cuFixtureCall(deeper, (void *)(left - 1)) == 0);
    else CHECK(cuInit(0) == 0);
}
int main(void) {
    CHECK(cuFixtureCall(deeper, (void *)39) == 0);
    CHECK(fixture_count("cuFixtureCall") == 40);
    puts("ok");
}
