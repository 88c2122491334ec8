/* Four threads whose calls take 70 ms, so that at any moment some have an opening line: a collector that follows a killed one must close them. */
//: exe long_calls -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>

static void *thread(void *delay_us) {
    usleep((long)delay_us);
    for (int i = 0; i < 25; i++) CHECK(cuFixtureSleep(70) == 0);
    return 0;
}
int main(void) {
    pthread_t t[4];
    for (long i = 0; i < 4; i++) CHECK(pthread_create(&t[i], 0, thread, (void *)(i * 17000)) == 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    puts("ok");
}
