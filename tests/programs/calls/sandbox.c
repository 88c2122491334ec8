/* A sandbox of its own: its handler for SIGSYS opens files in the place of the kernel. Whoever opens a file with that signal blocked ends
 * the program. */
//: exe sandbox -l:libcuda.so.1 -pthread
#define _GNU_SOURCE
#include "fixture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { MARK = 0x5a5a5a5a };
static volatile int traps;

static void open_for(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    long result = SYS_openat;
    register long mode __asm__("r10") = registers[REG_R10], mark __asm__("r9") = MARK;
    (void)signal, (void)info;
    __asm__ volatile("syscall" : "+a"(result)
        : "D"(registers[REG_RDI]), "S"(registers[REG_RSI]), "d"(registers[REG_RDX]), "r"(mode), "r"(mark) : "rcx", "r11", "memory");
    registers[REG_RAX] = result;
    traps++;
}
static void *caller(void *unused) {
    int v;
    for (int i = 0; i < 10; i++) CHECK(cuDriverGetVersion(&v) == 0);
    return unused;
}
int main(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct sigaction action = {.sa_sigaction = open_for, .sa_flags = SA_SIGINFO | SA_NODEFER};
    CHECK(sigaction(SIGSYS, &action, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    FILE *file = fopen("/proc/self/stat", "r");
    CHECK(file && traps == 1);
    fclose(file);
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, caller, 0) == 0 && pthread_join(thread, 0) == 0);
    caller(0);
    puts("ok");
    return 0;
}
