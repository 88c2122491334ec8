/* The process ends inside a call: _exit in the driver, SIGKILL, SIGSEGV and SIGABRT in the driver, exit in a callback. */
//: exe end_exit -DHOW=0 -l:libcuda.so.1
//: exe end_kill -DHOW=9 -l:libcuda.so.1
//: exe end_segv -DHOW=11 -l:libcuda.so.1
//: exe end_abort -DHOW=6 -l:libcuda.so.1
//: exe end_in_callback -DCALLBACK -l:libcuda.so.1
#include "fixture.h"

#ifdef CALLBACK
static void last(void) { CHECK(cuStreamSynchronize(0) == 0); }
static void ends(void *unused) { (void)unused; CHECK(cuMemFree_v2(1) == 0); exit(4); }
int main(void) {
    CHECK(cuInit(0) == 0 && atexit(last) == 0);
    cuFixtureCall(ends, 0);
    return 1;
}
#else
int main(void) {
    CHECK(cuInit(0) == 0);
    return cuFixtureDie(HOW);
}
#endif
