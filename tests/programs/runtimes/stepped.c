/* A signal at every single instruction of a driver's or a linked-in runtime's call: the child stops in front of each call, the parent lets it go one instruction
 * further than the time before, and then sends a signal whose handler makes a call of its own. Prints how many of each were made.
 *
 *   stepped FUNCTION [STEPS]
 *
 * With STEPS a second signal comes so many instructions behind the end of the first one's handler, which returns meanwhile. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*outer)(), (*inner)(int *);
static volatile long over; /* the parent writes it: a whole call was stepped through */
static volatile long inners;
static long again;

/* A launch whose parameters are locals, as compilers put them. */
static int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static void *kernel;
static int launch(void **unused, void **neither) {
    (void)unused, (void)neither;
    long address = 0x1122334455667788;
    int number = 99;
    char bytes[3] = "abc";
    void *parameters[] = {&address, &number, bytes};
    return launch_kernel(kernel, 1, 2, 3, 4, 5, 6, 7, NULL, parameters, NULL);
}

static size_t driver_low, driver_bytes;
int main(int, char **);
static void handler(int number) {
    (void)number;
    /* From wherever it was interrupted the stack leads to where the call was made. */
    void *from[64];
    int frames = backtrace(from, 64), found = 0;
    for (int n = 0; n < frames; n++) found |= (size_t)from[n] - (size_t)main < 4096;
    /* A driver without unwind data is where it ends. */
    if (!found && (size_t)from[frames - 1] - driver_low >= driver_bytes) _exit(12);
    int device = -1;
    if (inner(&device) || device != 0) _exit(10);
    inners++;
    if (again) __asm__ volatile("int3"); /* the parent knows where it is */
}

/* Its caller is found by rbp. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static int child(void) {
    void *first[2] = {0}, *now[2];
    if (((int (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit"))(0)) return 3;
    if (((int (*)(void **, int))dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxRetain"))(first, 0)) return 4;
    if (((int (*)(void *))dlsym(RTLD_DEFAULT, "cuCtxSetCurrent"))(first[0])) return 5;
    if (outer == (int (*)())launch_kernel) {
        if (((int (*)(void **, void *, const char *))dlsym(RTLD_DEFAULT, "cuModuleGetFunction"))(&kernel, &kernel, "k")) return 11;
        outer = (int (*)())launch;
    }
    void *none[1];
    backtrace(none, 1); /* it loads a library */
    char line[4096];
    size_t low, high;
    for (FILE *maps = fopen("/proc/self/maps", "r"); maps && fgets(line, sizeof line, maps);)
        if (strstr(line, "libcuda.so") && sscanf(line, "%zx-%zx", &low, &high) == 2) {
            driver_low = driver_low ? driver_low : low;
            driver_bytes = high - driver_low;
        }
    signal(SIGUSR1, handler);
    if (ptrace(PTRACE_TRACEME, 0, 0, 0)) return 77;
    long outers = 1;
    first[0] = NULL;
    int expected = outer(&first[0], &first[1]); /* what the first call makes is made */
    raise(SIGUSR1);
    while (!over) {
        now[0] = now[1] = NULL;
        /* What lies below the stack pointer is nobody's, least of all a register of ours. */
        __asm__ volatile("movq $0x41414141, -16(%%rsp)\n\tint3" ::: "memory");
        if (outer(&now[0], &now[1]) != expected || now[0] != first[0] || now[1] != first[1]) return 6;
        outers++;
    }
    printf("%ld %ld\n", outers, inners);
    fflush(stdout);
    return 0;
}

/* Lets the child go on; how it stopped, or -1 when it has ended. A trap's kind in `code`. */
static int step(pid_t pid, enum __ptrace_request how, int number, int *code) {
    int status;
    siginfo_t info;
    if (ptrace(how, pid, 0, number) || waitpid(pid, &status, 0) != pid) exit(7);
    if (!WIFSTOPPED(status)) {
        if (WIFEXITED(status)) exit(WEXITSTATUS(status));
        exit(8);
    }
    *code = 0;
    if (WSTOPSIG(status) == SIGTRAP && !ptrace(PTRACE_GETSIGINFO, pid, 0, &info)) *code = info.si_code;
    return WSTOPSIG(status);
}

int main(int count, char **arguments) {
    if (count < 2 || count > 3 || !dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) return 2;
#ifdef RUNTIME
    extern int cudaGetDevice(int *);
    outer = (int (*)())cudaGetDevice; /* of the runtime that is linked in */
#else
    outer = (int (*)())dlsym(RTLD_DEFAULT, arguments[1]);
    launch_kernel = dlsym(RTLD_DEFAULT, "cuLaunchKernel");
#endif
    inner = (int (*)(int *))dlsym(RTLD_DEFAULT, "cuCtxGetDevice");
    if (!outer || !inner) return 3;
    again = count == 3 ? atol(arguments[2]) : 0;
    pid_t pid = fork();
    if (pid == 0) _exit(child());
    int status, code, number = 0;
    if (waitpid(pid, &status, 0) != pid) return 9;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    for (long deep = 0, done = 0; !done; deep++) {
        number = WSTOPSIG(status) == SIGUSR1 ? SIGUSR1 : 0;
        /* To the int3 in front of the call. */
        while (step(pid, PTRACE_CONT, number, &code) != SIGTRAP || code != SI_KERNEL) number = 0;
        number = 0;
        for (long n = 0; n < deep && !done; n++)
            done = step(pid, PTRACE_SINGLESTEP, 0, &code) == SIGTRAP && code == SI_KERNEL;
        if (done) ptrace(PTRACE_POKEDATA, pid, (void *)&over, 1L);
        kill(pid, SIGUSR1);
        /* The signal stops the child before it is delivered. */
        status = SIGUSR1 << 8 | 0x7f;
        while (step(pid, PTRACE_CONT, 0, &code) != SIGUSR1) {}
        if (!again || done) continue;
        if (step(pid, PTRACE_CONT, SIGUSR1, &code) != SIGTRAP || code != SI_KERNEL) return 13;
        status = 0;
        int next = 0; /* the call is over before */
        for (long n = 0; n < again && !next; n++) next = step(pid, PTRACE_SINGLESTEP, 0, &code) == SIGTRAP && code == SI_KERNEL;
        if (next) continue;
        kill(pid, SIGUSR1);
        while (step(pid, PTRACE_CONT, 0, &code) != SIGUSR1) {}
        if (step(pid, PTRACE_CONT, SIGUSR1, &code) != SIGTRAP || code != SI_KERNEL) return 14;
    }
    for (;;) {
        step(pid, PTRACE_CONT, number ? 0 : SIGUSR1, &code);
        number = 1;
    }
}
