/* A watched library makes requests of the kernel driver, through the ioctl of the program, which stands for the kernel: it answers, rewrites the request's class and fails one. Wrong: bytes of one moment shown as those of the other,
 * errno or a result changed, a pointer not followed, a call of the program itself shown. */
//: lib libnvidia-ml.so.1 -DLIBRARY -Wl,-soname,libnvidia-ml.so.1
//: exe requests -rdynamic -l:libnvidia-ml.so.1
#include "fixture.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

int nvmlInit_v2(void);
#ifdef LIBRARY
struct alloc { uint32_t root, parent, object, class; uint64_t params, rights; uint32_t size, flags, status, pad; };
struct control { uint32_t client, object, command, flags; uint64_t params; uint32_t size, status; };
int nvmlInit_v2(void) {
    const char *set = getenv("CUDA_FIXTURE_SET");
    CHECK(set && !strcmp(set, "yes") && !getenv("CUDA_FIXTURE_UNSET") && !getenv("CUDA_DEVICE_ORDER") && !getenv("CUDA_03b69110"));
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status && !fclose(status));
    int fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC), uvm = open64("/dev/nvidia-uvm", O_RDWR);
    CHECK(fd >= 0 && uvm >= 0 && open("/dev/nvidia7", O_RDWR) == -1 && errno == ENOENT);
    struct alloc root = {0};
    CHECK(ioctl(fd, _IOWR('F', 0x2b, struct alloc), &root) == 0 && root.object == 0xc1d00001 && root.class == 0x41);
    uint32_t gid[67] = {0, 2};
    struct control gets = {root.object, 0x5c000003, 0x2080014a, 0, (uintptr_t)gid, sizeof gid, 0};
    CHECK(ioctl(fd, _IOWR('F', 0x2a, struct control), &gets) == 0 && gets.status == 0 && gid[2] == 16);
    struct { uint32_t command, size; uint64_t at; } wrap = {0x2a, sizeof gets, (uintptr_t)&gets};
    gets.command = 0x20808159, gets.size = 4;
    CHECK(ioctl(fd, _IOWR('F', 211, wrap), &wrap) == 0 && gets.status == 0x56);
    uint64_t version[5] = {80}; char driver[80] = "";
    version[1] = (uintptr_t)driver;
    struct control asks = {root.object, root.object, 0x101, 0, (uintptr_t)version, sizeof version, 0};
    CHECK(ioctl(fd, _IOWR('F', 0x2a, struct control), &asks) == 0 && !strcmp(driver, "580.142"));
    uint32_t init[4] = {0};
    CHECK(ioctl(uvm, 0x30000001, init) == 0 && init[2] == 0x40);
    errno = 5;
    CHECK(ioctl(fd, _IOWR('F', 0x29, uint32_t[3]), init) == -1 && errno == EINVAL);
    CHECK(ioctl(fd, _IOWR('F', 0x29, uint32_t[4]), (void *)16) == -1 && errno == EFAULT);
    void *at = mmap64(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int again = dup(fd);
    CHECK(at != MAP_FAILED && again > fd && munmap(at, 4096) == 0 && !close(again) && !close(fd) && !close(uvm));
    return 0;
}
#else
static int node(const char *path) {
    if (strncmp(path, "/dev/nvidia", 11)) return syscall(257, AT_FDCWD, path, O_RDONLY, 0);
    if (strstr(path, "nvidia7")) return errno = ENOENT, -1;
    int fd = memfd_create(path, 0);
    return ftruncate(fd, 4096), fd;
}
int open(const char *path, int flags, ...) { (void)flags; return node(path); }
int open64(const char *path, int flags, ...) { (void)flags; return node(path); }
int ioctl(int fd, unsigned long request, ...) {
    va_list l; va_start(l, request); uint32_t *a = va_arg(l, void *); va_end(l); (void)fd;
    if (a == (void *)16) return errno = EFAULT, -1;
    if (request == 0x30000001) return a[2] = 0x40, 0;
    if (request == _IOWR('F', 0x2b, char[48])) return a[2] = 0xc1d00001, a[3] = 0x41, 0;
    if (request == _IOWR('F', 211, char[16])) return ((uint32_t *)*(uint64_t *)(a + 2))[7] = 0x56, 0;
    if (request != _IOWR('F', 0x2a, char[32])) return errno = EINVAL, -1;
    uint64_t params = *(uint64_t *)(a + 4);
    if (a[2] == 0x101) strcpy((char *)((uint64_t *)params)[1], "580.142");
    else ((uint32_t *)params)[2] = 16;
    return 0;
}
int main(void) {
    setenv("CUDA_FIXTURE_SET", "yes", 1);
    unsetenv("CUDA_FIXTURE_UNSET"), unsetenv("CUDA_DEVICE_ORDER"), unsetenv("CUDA_03b69110");
    CHECK(open("/dev/null", O_RDONLY) >= 0 && ioctl(0, 1, 0) == -1 && nvmlInit_v2() == 0);
    puts("ok");
}
#endif
