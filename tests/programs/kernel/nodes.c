// Files in a private /dev stand for the driver's nodes: an ioctl whose answer changes its argument, one that fails, a
// mapping, dup, a thread and a child. Without the bytes before the call a trace shows only the answer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#define FREE 0xc0104629u
#define GETFLAGS 0x80086601u
static int fd;
static unsigned handles[4] = {0xc1d00001, 0xc1d00001, 0x5c000001, 0};

static void *thread(void *unused)
{
    handles[2] = 0x5c000002;
    ioctl(fd, FREE, handles);
    return unused;
}

int main(void)
{
    int user = getuid();
    if (unshare(user ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0)
        || mount("none", "/dev", "tmpfs", 0, 0))
        return puts("no namespace"), 77;
    fd = open("/dev/nvidiactl", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 8192)) return puts("no file"), 1;
    long flags[1] = {0x1122334455667788};
    int got = ioctl(fd, GETFLAGS, flags);
    if (ioctl(fd, FREE, handles) == 0) return puts("a file took a request"), 1;
    ioctl(fd, FREE, (void *)8);
    char *at = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int other = dup(fd);
    munmap(at, 8192);
    pthread_t one;
    if (pthread_create(&one, 0, thread, 0) || pthread_join(one, 0)) return 1;
    if (fork() == 0) {
        handles[2] = 0x5c000003;
        ioctl(other, FREE, handles);
        _exit(0);
    }
    wait(0);
    close(other);
    close(fd);
    printf("%d\n", got);
    return puts("ok"), 0;
}
