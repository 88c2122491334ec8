/* Counts the calls of the functions in export tables, without cutap: the independent counter of hidden.py. It requests every table of
 * HIDDEN_TABLES (a file of UUIDs, one a line) as soon as it is loaded, and replaces each function in them in place by a thunk of its
 * own. Under cutap the functions are cutap's slots by then, so both count the same calls in one run.
 *
 * The file HIDDEN_COUNTS.PID is the memory of the counts: entries of `struct slot`. So it has the calls of destructors that run after
 * this library's. Tables a094798c and d4082055, and those of profilers, are not to be in the list.
 * cc -O1 -shared -fPIC hidden_counter.c -o hidden_counter.so -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THUNKS 4096
static struct slot { uint64_t calls; void *real; char name[32]; } slots[THUNKS] __attribute__((aligned(4096)));
static int used;
static unsigned char *code;

/* A thunk: lock inc qword [slots[n].calls]; jmp [slots[n].real]. Absolute addresses in r11, which no caller keeps. */
static void *thunk(int n) {
    unsigned char *at = code + n * 32;
    uint64_t slot = (uint64_t)&slots[n];
    static const unsigned char bytes[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x49, 0xff, 0x03,
                                          0x41, 0xff, 0x63, 0x08};
    memcpy(at, bytes, sizeof bytes);
    memcpy(at + 6, &slot, 8);
    return at;
}

static int parse(const char *text, unsigned char *uuid) {
    int n = 0;
    for (; *text && n < 32; text++) {
        int digit = *text >= '0' && *text <= '9' ? *text - '0' : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10 : -1;
        if (digit < 0) continue;
        uuid[n / 2] = (unsigned char)(uuid[n / 2] << 4 | digit);
        n++;
    }
    return n == 32;
}

/* Puts the file of this process under `slots`; in a child, its counts begin at 0. */
static void map_file(void) {
    static struct slot before[THUNKS];
    const char *name = getenv("HIDDEN_COUNTS");
    char path[4096];
    if (!name) return;
    snprintf(path, sizeof path, "%s.%d", name, getpid());
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    memcpy(before, slots, sizeof slots);
    if (file < 0 || ftruncate(file, sizeof slots) ||
        mmap(slots, sizeof slots, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        perror("hidden_counter");
        _exit(99);
    }
    close(file);
    for (int n = 0; n < used; n++) slots[n] = before[n], slots[n].calls = 0;
}

__attribute__((constructor)) static void replace(void) {
    const char *list = getenv("HIDDEN_TABLES");
    FILE *file = list ? fopen(list, "r") : NULL;
    void *driver = file ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    int (*ask)(void ***, const void *) = driver ? (int (*)(void ***, const void *))dlsym(driver, "cuGetExportTable") : NULL;
    if (!ask) return;
    map_file();
    pthread_atfork(NULL, NULL, map_file);
    code = mmap(NULL, THUNKS * 32, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char line[128];
    while (fgets(line, sizeof line, file)) {
        unsigned char uuid[16] = {0};
        void **table = NULL;
        int words, first = 1;
        if (!parse(line, uuid) || ask(&table, uuid) || !table) continue;
        /* A table without a size word has its length in the file: "UUID 3". */
        char *length = strchr(line, ' ');
        if (length) words = atoi(length), first = 0;
        else words = (int)((uint64_t)table[0] / 8);
        char name[24];
        snprintf(name, sizeof name, "%.8s", line);
        if (!length) fprintf(stderr, "hidden_counter: length %.36s %d\n", line, words);
        if (words > 1000) continue;
        for (int n = first; n < words && used < THUNKS; n++) {
            if (!table[n]) continue;
            uintptr_t page = (uintptr_t)&table[n] & ~4095ul;
            if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE)) break;
            snprintf(slots[used].name, sizeof slots[used].name, "%s[%d]", name, n);
            slots[used].real = table[n];
            table[n] = thunk(used++);
        }
    }
    fclose(file);
    mprotect(code, THUNKS * 32, PROT_READ | PROT_EXEC);
}
