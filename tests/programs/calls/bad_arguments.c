/* Requests whose arguments the kernel could not read or write whole, answered by --fail: an error as the kernel gives it, no signal. */
//: lib libbad_arguments.so -DLIBRARY -Wl,-soname,libnvidia-ml.so.1
//: exe bad_arguments -ldl
#include "fixture.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#ifdef LIBRARY
struct control { uint32_t client, object, command, flags; uint64_t params; uint32_t size, status; };
#define CONTROL _IOWR('F', 0x2a, struct control)

int nvmlInit_v2(void) {
    struct control good = {1, 2, 0x2080014a, 0, 0, 0, 7};
    int fd = open("/dev/null", O_RDWR), node = memfd_create("kept", 0);
    CHECK(ioctl(fd, CONTROL, &good) == 0 && good.status == 0x56);
    good.status = 7;
    char *pages = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && munmap(pages + 8192, 4096) == 0 && ftruncate(node, 4096) == 0);
    memcpy(pages + 64, &good, sizeof good), memcpy(pages + 4076, &good, sizeof good), memcpy(pages + 8192 - 28, &good, 28);
    /* Its end is not there. */
    CHECK(ioctl(fd, CONTROL, pages + 8192 - 28) == -1 && errno == EFAULT);
    /* It cannot be written to: all of it, or only where the status is. */
    CHECK(mprotect(pages + 4096, 4096, PROT_READ) == 0);
    CHECK(ioctl(fd, CONTROL, pages + 4076) == -1 && errno == EFAULT);
    CHECK(mprotect(pages, 4096, PROT_READ) == 0);
    CHECK(ioctl(fd, CONTROL, pages + 64) == -1 && errno == EFAULT && ((struct control *)(pages + 64))->status == 7);
    /* It cannot be read. */
    CHECK(mprotect(pages, 4096, PROT_NONE) == 0);
    CHECK(ioctl(fd, CONTROL, pages + 64) == -1);
    /* Memory of a file that has become shorter. */
    char *file = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, node, 0);
    memcpy(file + 4096 - 28, &good, 28);
    CHECK(ioctl(fd, CONTROL, file + 4096 - 28) == -1 && errno == EFAULT);
    CHECK(ioctl(fd, CONTROL, &good) == 0 && good.status == 0x56);
    return 0;
}
#else
int main(void) {
    void *library = dlopen("libbad_arguments.so", RTLD_NOW);
    int (*call)(void) = library ? (int (*)(void))dlsym(library, "nvmlInit_v2") : 0;
    CHECK(call && call() == 0);
    puts("ok");
}
#endif
