/* Four threads call: the first one, one with a name that is not ASCII alone, one with the program's, one with the begin of it. */
//: exe named_threads -l:libcuda.so.1
#include "fixture.h"
#include <pthread.h>
#include <sys/prctl.h>

static void *thread(void *name) {
    int version;
    if (name) CHECK(prctl(PR_SET_NAME, name) == 0);
    CHECK(cuDriverGetVersion(&version) == 0);
    return 0;
}
int main(void) {
    pthread_t t;
    char *names[] = {"worker \u00e4", 0, "named"};
    thread(0);
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&t, 0, thread, names[i]) == 0 && pthread_join(t, 0) == 0);
    puts("ok");
}
