// A program that others may not look into, traced by an ordinary user.
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    unsigned argument[4] = {1, 2, 3, 4};
    prctl(PR_SET_DUMPABLE, 0);
    int fd = open("/proc/self/stat", O_RDONLY);
    // A request of the driver. Whose file it is, the tracer may not see.
    for (int n = 0; n < 5; n++) ioctl(fd, 0xc0104629u, argument);
    puts("ok");
    return 0;
}
