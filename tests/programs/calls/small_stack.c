/* A thread with the smallest stack there is: its first look-up, its first call and a call with 46 words fit. */
//: exe small_stack -Wl,-z,lazy -l:libcuda.so.1
#include "fixture.h"
#include <limits.h>
#include <pthread.h>

static void *thread(void *unused) {
    int v = 0;
    CUresult (*version)(int *) = (CUresult (*)(int *))dlsym(RTLD_DEFAULT, "cuDriverGetVersion");
    CHECK(version && version(&v) == 0 && v == 12090);
    CHECK(cuFixtureMany(1, 2l, 3l, 4l, 5l, 6l, 7l, 8l, 9l, 10l, 11l, 12l, 13l, 14l, 15l, 16l, 17l, 18l, 19l, 20l, 21l, 22l, 23l, 24l,
              25l, 26l, 27l, 28l, 29l, 30l, 31l, 32l, 33l, 34l, 35l, 36l, 37l, 38l, 39l, 40l, 41l, 42l, 43l, 44l, 45l, 46l) == 0);
    return unused;
}
int main(void) {
    pthread_attr_t smallest;
    pthread_t t;
    CHECK(pthread_attr_init(&smallest) == 0 && pthread_attr_setstacksize(&smallest, PTHREAD_STACK_MIN) == 0);
    CHECK(pthread_create(&t, &smallest, thread, 0) == 0 && pthread_join(t, 0) == 0);
    puts("ok");
}
