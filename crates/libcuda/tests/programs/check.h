/* For programs that check the driver through dlsym: every argument a word, every result looked at. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *lib;
static void *get(const char *name) {
    void *found = dlsym(lib, name);
    if (!found) { fprintf(stderr, "no export %s\n", name); exit(1); }
    return found;
}
#define CALL(name, ...) (((int (*)())get(#name))(__VA_ARGS__))
#define IS(expected, name, ...) do { int is_ = CALL(name, __VA_ARGS__); if (is_ != (expected)) { \
    fprintf(stderr, "%s:%d: %s = %d, expected %d\n", __FILE__, __LINE__, #name, is_, expected); exit(1); } } while (0)
#define OK(name, ...) IS(0, name, __VA_ARGS__)
#define TRUE(what) do { if (!(what)) { fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); exit(1); } } while (0)
typedef void *P;
typedef uint64_t U;
#define NUL ((P)0)
#define SIZE(n) ((size_t)(n))
