/* Its first thread has ended, and another one continues until standard input ends. Each round opens a file that -v shows. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *rounds(void *nothing) {
    struct pollfd input = {0, POLLIN, 0};
    while (poll(&input, 1, 10) == 0) {
        close(open("/proc/self/stat", O_RDONLY));
        if (write(1, "x", 1) != 1) exit(1);
    }
    exit(0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, rounds, 0) != 0) return 1;
    pthread_exit(0);
}
