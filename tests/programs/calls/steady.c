/* Two threads that call for about two seconds, so that whoever records them can be killed meanwhile; the file COUNTS.over says that it is over. */
//: exe steady -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>
#include <pthread.h>

static void *thread(void *unused) {
    CUdeviceptr p;
    for (int i = 0; i < 40000; i++) {
        CHECK(cuMemAlloc_v2(&p, 0) == 1);
        if (i % 200 == 0) usleep(10000);
    }
    return unused;
}
int main(void) {
    pthread_t t[2];
    CHECK(cuInit(0) == 0);
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&t[i], 0, thread, 0) == 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    puts("ok");
    char path[512];
    snprintf(path, sizeof path, "%s.over", getenv("FIXTURE_COUNTS") ?: "/dev/null");
    close(open(path, O_CREAT | O_WRONLY, 0600));
}
