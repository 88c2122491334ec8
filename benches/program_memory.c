/* What a recorded call costs by where its argument leads: the stack, a variable or a constant of the program's own file, the heap.
 *
 *     gcc -O2 -shared -fPIC -DLIBRARY -Wl,-soname,libcublas.so.13 -o libcublas.so.13 program_memory.c
 *     gcc -O2 -o program_memory program_memory.c ./libcublas.so.13
 *     LD_LIBRARY_PATH=. cutap record --sim -o /tmp/x.cutap -- ./program_memory
 *
 * Bursts of 200 calls with a pause after each, so that a ring never fills; the median of all bursts, in ns a call. A timing is no test. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int cublasGetVersion_v2(void *handle, int *version);
int cublasLoggerConfigure(int on, int to_stdout, int to_stderr, const char *file);

#ifdef LIBRARY
int cublasGetVersion_v2(void *handle, int *version) { (void)handle; *version = 13; return 0; }
int cublasLoggerConfigure(int on, int to_stdout, int to_stderr, const char *file) { (void)on, (void)to_stdout, (void)to_stderr, (void)file; return 0; }
#else
enum { BURSTS = 1000, CALLS = 200 };
static int variable = 1;
static const char constant[] = "a text of the program";

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static int by_size(const void *a, const void *b) { double d = *(const double *)a - *(const double *)b; return d < 0 ? -1 : d > 0; }
static void measure(const char *what, int *output, const char *text) {
    static double bursts[BURSTS];
    for (int i = 0; i < BURSTS; i++) {
        double begin = now();
        for (int n = 0; n < CALLS; n++) output ? cublasGetVersion_v2(0, output) : cublasLoggerConfigure(1, 1, 1, text);
        bursts[i] = (now() - begin) / CALLS;
        nanosleep(&(struct timespec){0, 100000}, 0);
    }
    qsort(bursts, BURSTS, sizeof *bursts, by_size);
    printf("%-28s %7.1f\n", what, bursts[BURSTS / 2]);
}

int main(void) {
    int on_stack = 0, *on_heap = malloc(sizeof *on_heap);
    char text_on_stack[sizeof constant];
    char *text_on_heap = strdup(constant);
    memcpy(text_on_stack, constant, sizeof constant);
    measure("output on the stack", &on_stack, 0);
    measure("output in .data", &variable, 0);
    measure("output on the heap", on_heap, 0);
    measure("text on the stack", 0, text_on_stack);
    measure("text in .rodata", 0, constant);
    measure("text on the heap", 0, text_on_heap);
}
#endif
