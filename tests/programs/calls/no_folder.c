/* At the first call no descriptor is free, so the process cannot make its folder; a moment later they are, and from then on its calls are
 * recorded, its child's too. */
//: exe no_folder -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(void) {
    struct rlimit few = {64, 64};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (open("/dev/null", O_RDONLY) >= 0) { }
    CHECK(cuInit(0) == 0);
    for (int i = 3; i < 64; i++) close(i);
    usleep(20000);
    for (int i = 0; i < 100; i++) CHECK(cuDriverGetVersion(&(int){0}) == 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 50; i++) CHECK(cuDriverGetVersion(&(int){0}) == 0);
        _exit(0);
    }
    CHECK(waitpid(child, 0, 0) == child);
    puts("ok");
    return 0;
}
