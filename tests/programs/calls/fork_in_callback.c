/* fork in a callback: one call is entered and two processes leave it. */
//: exe fork_in_callback -l:libcuda.so.1
#include "fixture.h"
#include <sys/wait.h>

static pid_t child;
static void forks(void *unused) {
    (void)unused;
    child = fork();
    CHECK(child >= 0 && cuMemFree_v2(1) == 0);
}
int main(void) {
    int status, v;
    CHECK(cuInit(0) == 0 && cuFixtureCall(forks, 0) == 0);
    CHECK(cuDriverGetVersion(&v) == 0 && v == 12090);
    if (!child) _exit(6);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 6);
    CHECK(fixture_count("cuMemFree_v2") == 2 && fixture_count("cuFixtureCall") == 1 && fixture_count("cuDriverGetVersion") == 2);
    puts("ok");
}
