/* No file may be larger than two pages, so the process can make its page, but not the file of its names, and tries both again now and then:
 * no try leaves anything mapped. */
//: exe no_names -l:libcuda.so.1
#include "fixture.h"
#include <signal.h>
#include <sys/resource.h>

int main(void) {
    struct rlimit small = {8192, 8192};
    char line[600];
    int pages = 0;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (int i = 0; i < 1000; i++, usleep(1000)) CHECK(cuDriverGetVersion(&(int){0}) == 0);
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) pages += strstr(line, "/proc\n") != 0;
    fclose(maps);
    if (pages) printf("%d pages of this process are mapped\n", pages);
    puts("ok");
    return 0;
}
