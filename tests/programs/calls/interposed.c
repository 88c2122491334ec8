/* Another library that wraps ioctl, as container tools have one, in front of cutap or behind it: it must see each request once, and so
 * must cutap, also of a library that looks ioctl up. */
//: lib libinterposes.so -DINTERPOSES -ldl
//: lib libinterposed.so -DLIBRARY -Wl,-soname,libnvidia-ml.so.1 -ldl
//: exe interposed -rdynamic -ldl
#include "fixture.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>

typedef int request(int, unsigned long, ...);
#ifdef INTERPOSES
int interposed;
int ioctl(int fd, unsigned long number, ...) {
    va_list words;
    va_start(words, number);
    void *argument = va_arg(words, void *);
    va_end(words);
    interposed++;
    return ((request *)dlsym(RTLD_NEXT, "ioctl"))(fd, number, argument);
}
#elif defined LIBRARY
int nvmlInit_v2(void) {
    uint32_t control[8] = {1, 2, 0x2080014a};
    int fd = open("/dev/null", O_RDWR);
    request *all[] = {ioctl, (request *)dlsym(RTLD_DEFAULT, "ioctl"), (request *)dlsym(dlopen("libc.so.6", RTLD_NOW), "ioctl")};
    for (int n = 0; n < 3; n++) CHECK(all[n](fd, _IOWR('F', 0x2a, char[32]), control) == -1 && errno == ENOTTY);
    return 0;
}
#else
int main(void) {
    void *library = dlopen("libinterposed.so", RTLD_NOW);
    int (*call)(void) = library ? (int (*)(void))dlsym(library, "nvmlInit_v2") : 0, *seen = dlsym(RTLD_DEFAULT, "interposed");
    CHECK(call && call() == 0 && (!seen || *seen == 2));
    puts("ok");
}
#endif
