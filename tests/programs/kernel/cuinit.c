/* cuInit of a real libcuda, on a machine without a driver: it fails. Wrong: another result than without cutap, a variable or a device node that is not in the trace. With -DSHIM: a library that writes the name of each variable that is asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SHIM
char *getenv(const char *name) {
    static char *(*real)(const char *);
    static int to = -1;
    if (!real) {
        real = dlsym(RTLD_NEXT, "getenv");
        to = open(real("GETENVS"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    }
    if (write(to, name, strlen(name)) < 0 || write(to, "\n", 1) < 0) _exit(70);
    return real(name);
}
#else
int cuInit(unsigned flags);

int main(void) {
    /* As root libcuda would make device nodes in /dev. */
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    if (syscall(SYS_capget, &head, sets)) return 70;
    sets[0].effective &= ~(1u << CAP_MKNOD), sets[0].permitted &= ~(1u << CAP_MKNOD);
    if (syscall(SYS_capset, &head, sets)) return 70;
    return printf("cuInit = %d\n", cuInit(0)) < 0;
}
#endif
