/* A short call and a long one, and a run that lasts until it is told to end: for what a trace shows while it goes on. */
//: exe slow -l:libcuda.so.1
//: exe until_killed -DFOREVER -l:libcuda.so.1
#include "fixture.h"

int main(void) {
    CHECK(cuFixtureSleep(1) == 0);
#ifdef FOREVER
    printf("waiting %d\n", getpid());
    fflush(stdout);
    cuFixtureSleep(1000000);
#else
    CHECK(cuFixtureSleep(300) == 0);
    puts("ok");
#endif
}
