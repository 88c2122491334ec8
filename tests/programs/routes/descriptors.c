/* File descriptors: the program has those, and gets the numbers, that it would have without us, also after its first call; and calls
 * go on after it has closed everything that it did not open. */
//: exe descriptors -l:libcuda.so.1
#include "fixture.h"
#include <fcntl.h>

static void show(const char *when) {
    printf("%s:", when);
    for (int fd = 3; fd < 1024; fd++) if (fcntl(fd, F_GETFD) != -1) printf(" %d", fd);
    int next = open("/dev/null", O_RDONLY);
    printf(" next %d\n", next);
    close(next);
}
int main(void) {
    show("at start"); /* what the shell handed down is there with and without us */
    CHECK(cuInit(0) == 0);
    show("after a call");
    for (int fd = 3; fd < 1024; fd++) close(fd);
    int v = 0;
    CHECK(cuDriverGetVersion(&v) == 0 && open("/dev/null", O_RDONLY) == 3);
    CHECK(chdir("/") == 0 && clearenv() == 0 && cuMemFree_v2(1) == 0);
    puts("ok");
}
