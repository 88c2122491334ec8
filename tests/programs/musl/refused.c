// A program for musl whose vfork fails: errno must say why, which is the C library's work.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// As in linux/filter.h, which musl-gcc does not find.
struct instruction { uint16_t code; uint8_t yes, no; uint32_t k; };
struct program { unsigned short length; struct instruction *first; };

int main(void) {
    struct instruction refuse[] = {
        {0x20, 0, 0, 0},                 // load the number of the call
        {0x15, 0, 1, SYS_vfork},         // is it this one?
        {0x06, 0, 0, 0x50000 | ECHILD},  // an error
        {0x06, 0, 0, 0x7fff0000},        // allowed
    };
    struct program program = {4, refuse};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program)) {
        puts("no seccomp");
        return 7;
    }
    errno = 0;
    pid_t pid = vfork();
    if (pid == 0) _exit(1);
    puts(pid == -1 && errno == ECHILD ? "ok" : "wrong");
    return 7;
}
