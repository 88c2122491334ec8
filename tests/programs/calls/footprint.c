/* Prints at each stage how much address space and data the process has, and how many mappings, for a test that compares a run under cutap
 * with one without. What cutap adds must follow what a program uses, not what one might use.
 * The library has so many functions with such long names that tables and names outgrow their first pieces. */
//: lib libcusolver.so.11 -DLIBRARY -Wl,-Bsymbolic
//: exe footprint -l:libcuda.so.1
#define FUNCTIONS 9000
#define LONG_NAME "cusolverFixture_that_has_a_name_as_long_as_those_of_the_kernels_of_templates_which_are_longer_than_a_line_"
#ifdef LIBRARY
#define WORD_(x) #x
#define WORD(x) WORD_(x)
long cusolverFixtureCalls;
__asm__(".text\n .altmacro\n .macro function n\n .globl " LONG_NAME "\\n\n .type " LONG_NAME "\\n,@function\n" LONG_NAME "\\n:\n"
    " lock incq cusolverFixtureCalls(%rip)\n xorl %eax,%eax\n ret\n .size " LONG_NAME "\\n, . - " LONG_NAME "\\n\n .endm\n"
    " .set i, 0\n .rept " WORD(FUNCTIONS) "\n function %i\n .set i, i + 1\n .endr\n .noaltmacro\n");
#else
#include "fixture.h"
#include <pthread.h>

static void stage(const char *name) {
    char line[600];
    long size = 0, data = 0, maps = 0;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) if (sscanf(line, "VmSize: %ld", &size) != 1) sscanf(line, "VmData: %ld", &data);
    fclose(file);
    CHECK((file = fopen("/proc/self/maps", "r")));
    while (fgets(line, sizeof line, file)) maps++;
    fclose(file);
    printf("%s %ld %ld %ld\n", name, size, data, maps);
}

static pthread_barrier_t all;
static void *thread(void *unused) {
    CHECK(cuDriverGetVersion(&(int){0}) == 0);
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    return unused;
}
static void threads(const char *name, int n) {
    pthread_t t[n];
    pthread_barrier_init(&all, 0, n + 1);
    for (int i = 0; i < n; i++) CHECK(pthread_create(&t[i], 0, thread, 0) == 0);
    pthread_barrier_wait(&all);
    stage(name);
    pthread_barrier_wait(&all);
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
}

int main(void) {
    char name[200];
    stage("start");
    CHECK(cuDriverGetVersion(&(int){0}) == 0);
    stage("call");
    threads("one", 1);
    threads("eleven", 11);
    void *library = dlopen("libcusolver.so.11", RTLD_NOW);
    CHECK(library);
    for (int i = 0; i < FUNCTIONS; i++) {
        snprintf(name, sizeof name, LONG_NAME "%d", i);
        int (*f)(void) = (int (*)(void))dlsym(library, name);
        CHECK(f && f() == 0);
    }
    CHECK(*(long *)dlsym(library, "cusolverFixtureCalls") == FUNCTIONS);
    stage("functions");
    puts("ok");
    return 0;
}
#endif
