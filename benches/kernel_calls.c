/* Many requests of one kind from a watched library to a stand-in for the kernel driver, inside one CUDA call. benches/kernel_calls.py runs it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern const char *kind;
extern long count;
int nvmlInit_v2(void);
#ifdef LIBRARY
static uint32_t elsewhere[2316];

static int request(int ctl, int uvm, uint32_t *params) {
    uint32_t free_object[4] = {1, 1, 2};
    uint64_t control[4] = {1 | 2ul << 32, 0x2080014a, (uintptr_t)(kind[0] == 'e' ? elsewhere : params), 268};
    uint64_t alloc[6] = {1 | 1ul << 32, 2 | 0xc86ful << 32, (uintptr_t)params};
    switch (kind[0]) {
    case 'f': return ioctl(ctl, _IOWR('F', 0x29, uint32_t[4]), free_object);
    case 'c':
    case 'e': return ioctl(ctl, _IOWR('F', 0x2a, uint64_t[4]), control);
    case 'a': return ioctl(ctl, _IOWR('F', 0x2b, uint64_t[6]), alloc);
    case 'u': return ioctl(uvm, 33, params);
    case 'g': return getenv("CUDA_NOT_SET_ANYWHERE") != 0;
    default: return 1;
    }
}

int nvmlInit_v2(void) {
    uint32_t params[2316] = {0};
    int ctl = open("/dev/nvidiactl", O_RDWR), uvm = open("/dev/nvidia-uvm", O_RDWR);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long n = 0; n < count; n++)
        if (request(ctl, uvm, params)) return 1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.1f\n", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / (double)count);
    return 0;
}
#else
const char *kind;
long count;

/* Answers without a system call: what is added is cutap's alone. */
int ioctl(int fd, unsigned long request, ...) { return (void)request, fd < 0; }

int open(const char *path, int flags, ...) {
    if (strncmp(path, "/dev/nvidia", 11)) return syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    return memfd_create(path, 0);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    kind = argv[1], count = atol(argv[2]);
    return nvmlInit_v2();
}
#endif
