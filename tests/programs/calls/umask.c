/* Takes its own user's rights away from all files that it makes from then on: before its first call if a word is given, else behind it. Then calls
 * in a new thread, and in a child. */
//: exe umask -l:libcuda.so.1 -lpthread
#include "fixture.h"
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void *hundred(void *unused) {
    for (int i = 0; i < 100; i++) CHECK(cuDriverGetVersion(&(int){0}) == 0);
    return unused;
}

int main(int n, char **words) {
    pthread_t thread;
    (void)words;
    if (n > 1) umask(0777);
    hundred(0);
    umask(0777);
    CHECK(pthread_create(&thread, 0, hundred, 0) == 0 && pthread_join(thread, 0) == 0);
    pid_t child = fork();
    if (child == 0) _exit((hundred(0), 0));
    CHECK(waitpid(child, 0, 0) == child);
    puts("ok");
    return 0;
}
