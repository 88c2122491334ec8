/* Calls the driver functions that the arguments name, with zeros, in a thread that has no ring, and no descriptor to make one with. Prints
 * how many calls that were. */
//: exe without_ring -ldl
#include "fixture.h"
#include <fcntl.h>
#include <sys/resource.h>

enum { TIMES = 20, MOST = 32 };

int main(int argc, char **argv) {
    struct rlimit few = {64, 64};
    CUresult (*function[MOST])(long, long, long, long, long, long, long, long, long, long, long);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver && argc <= MOST);
    for (int i = 1; i < argc; i++) CHECK((*(void **)&function[i] = dlsym(driver, argv[i])));
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (open("/dev/null", O_RDONLY) >= 0) { }
    for (int n = 0; n < TIMES; n++)
        for (int i = 1; i < argc; i++) function[i](0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    printf("%d\n", (argc - 1) * TIMES);
}
