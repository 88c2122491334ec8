/* A driver loads a kernel's module when cutap asks it for the kernel's parameters, with requests of the kernel driver. Wrong: those requests not shown, or the question itself shown. */
//: lib libloads_late.so -DLIBRARY -Wl,-soname,libcuda.so.1
//: exe loads_late -rdynamic -ldl
#define cuLaunchKernel fixture_launch
#define cuInit fixture_init
#include "fixture.h"
#undef cuLaunchKernel
#undef cuInit
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#ifdef LIBRARY
static int ctl = -1, loads;
static void request(uint32_t number) {
    uint32_t free[4] = {number};
    CHECK(ioctl(ctl, _IOWR('F', 0x29, uint32_t[4]), free) == 0);
}
static void load(void) { if (!loads++) request(1), request(2); }
int cuInit(unsigned flags) { (void)flags; ctl = open("/dev/nvidiactl", O_RDWR); return ctl < 0; }
int cuFuncGetParamInfo(void *f, size_t n, size_t *offset, size_t *bytes) {
    (void)f, load();
    return n ? 1 : (*offset = 0, *bytes = 4, 0);
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **params, void **extra) {
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)params, (void)extra;
    load(), request(3);
    return 0;
}
#else
int open(const char *path, int flags, ...) {
    (void)flags;
    return strncmp(path, "/dev/nvidia", 11) ? (int)syscall(257, AT_FDCWD, path, O_RDONLY, 0) : memfd_create(path, 0);
}
int ioctl(int fd, unsigned long request, ...) { (void)fd, (void)request; return 0; }
int main(void) {
    static uint64_t kernel[8];
    void *cuda = dlopen("libloads_late.so", RTLD_NOW);
    CHECK(cuda);
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(cuda, "cuInit");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) =
        (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))dlsym(cuda, "cuLaunchKernel");
    int value = 7;
    void *params[] = {&value};
    CHECK(init(0) == 0);
    for (int n = 0; n < 2; n++) CHECK(launch(kernel, 1, 1, 1, 1, 1, 1, 0, 0, params, 0) == 0);
    puts("ok");
}
#endif
