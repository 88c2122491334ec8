/* A call that waits for what never ends, until an alarm kills the program: whoever looks for what hangs looks for this. */
//: exe hangs -l:libcuda.so.1
#include "fixture.h"

static void never(void *unused) {
    (void)unused;
    for (alarm(1);;) pause();
}
int main(void) {
    CHECK(cuInit(0) == 0);
    CHECK(cuLaunchHostFunc(0, never, 0) == 0);
    return cuStreamSynchronize(0);
}
