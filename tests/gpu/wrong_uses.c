/* Wrong uses of the driver, each printed as `function case = code`, so that two drivers can be compared line by line
 * (wrong_uses.py). Cases run in groups, each group in a child of its own that calls cuInit itself; a case that
 * crashes or hangs prints so, and the group goes on behind it in a new child.
 *
 *   gcc -w -O1 wrong_uses.c -o wrong_uses -ldl && ./wrong_uses [libcuda.so.1 [group]]
 *
 * No header of NVIDIA is used: every function is called through a pointer without a prototype, so an argument of
 * 64 bits is written as one (UL, or a pointer). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint64_t U;
typedef void *P;

static struct { int done, cases; char label[200]; } *shared;
static void *lib;
static int number;

static int first(const char *label) {
    if (++number <= shared->done) return 0;
    shared->done = number;
    snprintf(shared->label, sizeof shared->label, "%s", label);
    return 1;
}

/* a case: asked once, whatever becomes of it */
#define C(name, what, ...) do { if (first(#name " " what)) { int (*f_)() = dlsym(lib, #name); shared->cases++; \
    if (!f_) printf("%s = absent\n", shared->label); else { int is_ = f_(__VA_ARGS__); printf("%s = %d\n", shared->label, is_); } \
    fflush(stdout); } } while (0)
/* a value that a case left: told once */
#define T(what, value) do { if (first(what)) { printf("%s: %lld\n", what, (long long)(value)); fflush(stdout); } } while (0)
/* what cases need: done in every child, told when it fails */
#define DO(name, ...) do { int (*f_)() = dlsym(lib, #name); int is_ = f_ ? f_(__VA_ARGS__) : -1; \
    if (is_) printf("# %s to prepare the next case = %d\n", #name, is_); } while (0)
#define NUL ((P)0)
#define BAD ((P)0x12345678)
#define SIZE(n) ((size_t)(n))

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 counter = 42;\n"
    ".visible .entry f(.param .u64 a, .param .f32 b, .param .align 4 .b8 c[100])\n.maxntid 256, 1, 1\n{ ret; }\n"
    ".visible .entry g()\n{ ret; }\n";

static int n, m;
static unsigned u;
static size_t z, y;
static U a, b, c, d, room[64];
static char bytes[8192] __attribute__((aligned(4096)));
static P context;
static void host(void *data) { if (data) usleep(*(int *)data); }
static void after(P stream, int code, void *data) {}

static void start(void) {
    DO(cuInit, 0);
    DO(cuCtxCreate_v2, &context, 0, 0);
}

#include "wrong_uses_memory.h"
#include "wrong_uses_order.h"
#include "wrong_uses_graphs.h"
#include "wrong_uses_code.h"

static const struct { const char *name; void (*run)(void); } groups[] = {
    { "before cuInit", before }, { "no context", no_context }, { "devices", devices }, { "contexts", contexts },
    { "memory", memory }, { "host memory", host_memory }, { "managed memory", managed }, { "copies", copies },
    { "arrays", arrays }, { "addresses", addresses }, { "pools", pools }, { "reservations", reservations },
    { "no access", no_access },
    { "other processes", ipc }, { "streams", streams }, { "events", events }, { "other context", other_context },
    { "capture", capture }, { "broken capture", broken_capture }, { "graphs", graphs }, { "graph nodes", nodes },
    { "graph executables", executables }, { "graph memory", graph_memory },
    { "freed twice", twice }, { "modules", modules }, { "functions", functions }, { "launches", launches },
    { "libraries", libraries }, { "linker", linker }, { "objects", objects }, { "look-ups", look_ups },
};

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "libcuda.so.1";
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned g = 0; g < sizeof groups / sizeof *groups; g++) {
        int ended = 0;
        if (argc > 2 && strcmp(argv[2], groups[g].name)) continue;
        printf("## %s\n", groups[g].name);
        shared->done = 0;
        for (int again = 0; !ended && again < 60; again++) {
            fflush(stdout);
            shared->label[0] = 0;
            pid_t child = fork();
            if (child == 0) {
                alarm(30);
                lib = dlopen(path, RTLD_NOW);
                if (!lib) { fprintf(stderr, "wrong_uses: %s\n", dlerror()); _exit(2); }
                groups[g].run();
                fflush(stdout);
                _exit(0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            if (WIFEXITED(status)) {
                if (WEXITSTATUS(status)) return WEXITSTATUS(status);
                ended = 1;
            } else {
                int hangs = WTERMSIG(status) == SIGALRM;
                if (!shared->label[0]) { printf("# %s while it prepared\n", hangs ? "hang" : "crash"); ended = 1; }
                else printf("%s = %s\n", shared->label, hangs ? "hang" : "crash");
            }
        }
    }
    printf("## %d cases\n", shared->cases);
    return 0;
}
