/* Calls exports with what no program means: NULL for each pointer, counts of a billion, handles of nobody, and with
 * harmless words. A line of the plan (standard input) is a name and a letter for each parameter. Nothing may crash
 * or hang; each function has a process of its own, since some end the context. */
#define _GNU_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROOM 65536
#define MOST 20

static U valid[128];
static char *room[MOST];
static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u32 n)\n{ ret; }\n";
static struct { int call, taken; } *progress;

/* Memory that ends where the page behind it is not there. */
static char *ending(void) {
    char *all = mmap(0, ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(all + ROOM, 4096, PROT_NONE);
    return all;
}

/* A handle of each kind. */
static void make(void) {
    P it;
    U shape[3] = { 16, 16, 0x20 | (U)1 << 32 };
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &it, 0);
    valid['c'] = (U)it;
    OK(cuCtxSetCurrent, it);
    OK(cuStreamCreate, &it, 1);
    valid['s'] = (U)it;
    OK(cuEventCreate, &it, 0);
    valid['e'] = (U)it;
    OK(cuModuleLoadData, &it, text);
    valid['m'] = (U)it;
    OK(cuModuleGetFunction, &it, valid['m'], "f");
    valid['f'] = (U)it;
    OK(cuLibraryLoadData, &it, text, 0, 0, 0, 0, 0, 0);
    valid['l'] = (U)it;
    OK(cuLibraryGetKernel, &it, valid['l'], "f");
    valid['k'] = (U)it;
    OK(cuGraphCreate, &it, 0);
    valid['g'] = (U)it;
    OK(cuGraphAddEmptyNode, &it, valid['g'], NUL, SIZE(0));
    valid['n'] = (U)it;
    OK(cuGraphInstantiateWithFlags, &it, valid['g'], 0);
    valid['x'] = (U)it;
    OK(cuDeviceGetDefaultMemPool, &it, 0);
    valid['p'] = (U)it;
    OK(cuArrayCreate_v2, &it, shape);
    valid['a'] = (U)it;
    OK(cuLinkCreate_v2, 0, NUL, NUL, &it);
    valid['L'] = (U)it;
    OK(cuMemAlloc_v2, &valid['D'], SIZE(4096));
}

static int is_number(char kind) { return kind == 'z' || kind == 'C'; }
static int is_pointer(char kind) { return kind == 'P' || kind == 'Z' || kind == 'T'; }

/* The words of one call; 0 if there is no such call of this function. */
static int words(const char *kinds, int call, U *w) {
    static const U numbers[] = { 0, 1, 2, 1000000000, 0xffffffff, (U)1 << 40, ~(U)0 };
    int n = strlen(kinds), handles = call % 3, rest = call / 3, number = rest % 7, null = rest / 7;
    if (null > n) return 0;
    for (int i = 0; i < n; i++) {
        if (is_number(kinds[i])) w[i] = numbers[number];
        else if (is_pointer(kinds[i])) {
            memset(room[i], 0, 256);
            if (kinds[i] == 'T') strcpy(room[i], "f");
            if (kinds[i] == 'Z') memcpy(room[i], &numbers[number], 8);
            w[i] = (U)room[i];
        } else if (kinds[i] == 'F') w[i] = 0; /* a function: none */
        else w[i] = handles == 0 ? valid[(int)kinds[i]] : handles == 1 ? 0 : 0x1234;
    }
    if (null) {
        if (!is_pointer(kinds[null - 1])) return -1;
        w[null - 1] = 0;
    }
    return 1;
}

static void child(const char *name, const char *kinds, int from) {
    freopen("/dev/null", "w", stderr);
    alarm(20);
    make();
    int taken = 0;
    int (*f)() = get(name);
    for (int call = from;; call++) {
        U w[MOST] = { 0 };
        int is = words(kinds, call, w);
        if (!is) break;
        if (is < 0) continue;
        progress->call = call;
        int result = f(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16]);
        if (!result && strchr(kinds, 'C') && call % 3 == 0 && (call / 3 == 3 || call / 3 == 4) && !taken++) {
            printf("%s took a list of %llx\n", name, (unsigned long long)w[strchr(kinds, 'C') - kinds]);
            fflush(stdout);
        }
    }
    progress->call = -1;
    progress->taken = taken;
    _exit(0);
}

int main(void) {
    char line[512], name[256], kinds[64];
    int bad = 0, functions = 0;
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    for (int i = 0; i < MOST; i++) room[i] = ending();
    progress = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (fgets(line, sizeof line, stdin)) {
        *kinds = 0;
        if (sscanf(line, "%255s %63s", name, kinds) < 1) continue;
        functions++;
        for (int from = 0, times = 0; from >= 0 && times < 4; times++) {
            int status, call = 0;
            progress->call = -2;
            if (!fork()) child(name, kinds, from);
            wait(&status);
            call = progress->call;
            bad |= progress->taken;
            if (!status) break;
            U w[MOST] = { 0 };
            if (call >= 0) words(kinds, call, w);
            printf("%s(", name);
            for (unsigned i = 0; i < strlen(kinds); i++) printf("%s%llx", i ? ", " : "", (unsigned long long)w[i]);
            printf(") ended by %s\n", strsignal(status & 127));
            fflush(stdout);
            bad = 1;
            if (call < 0) break;
            from = call + 1;
        }
    }
    printf("%d functions%s\n", functions, bad ? "" : ": all is well");
    return bad;
}
