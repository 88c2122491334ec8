/* Makes one child of vfork after the other, until its standard input ends. Each opens a file that -v shows. The number of children
 * stands in the file of its argument. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, sizeof(unsigned long)) != 0) return 1;
    volatile unsigned long *count = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (count == MAP_FAILED) return 1;
    struct pollfd input = {0, POLLIN, 0};
    while (poll(&input, 1, 0) == 0) {
        pid_t child = vfork();
        if (child == 0) {
            close(open("/proc/self/stat", O_RDONLY));
            _exit(0);
        }
        if (child < 0 || waitpid(child, 0, 0) != child) return 1;
        ++*count;
    }
    return 0;
}
