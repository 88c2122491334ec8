/* One child after the other, each of which calls as often as the second argument says and ends; the program lives a little longer,
 * unless there is a third argument. */
//: exe children -l:libcuda.so.1
#include "fixture.h"
#include <sys/wait.h>

int main(int argc, char **argv) {
    CHECK(argc >= 3 && cuInit(0) == 0);
    for (int n = atoi(argv[1]); n > 0; n--) {
        pid_t child = fork();
        if (child == 0) {
            CUdeviceptr p;
            for (int i = atoi(argv[2]); i > 0; i--) CHECK(cuMemAlloc_v2(&p, 0) == 1);
            _exit(0);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    /* Whoever tidies up comes by twice a second. */
    if (argc == 3) usleep(2500000);
    puts("ok");
}
