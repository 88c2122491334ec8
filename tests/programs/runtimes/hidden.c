/* Requests export tables of hidden_driver.c and calls the functions in them: bad tables, from two threads, of a driver that was
 * unloaded and loaded again. A call through a wrong word would crash; a lost argument gives another result.
 * Usage: hidden bad|threads|reload; TABLES=FILE gets whether the word of the good table is unchanged. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Function(long, long, long, long, long, long, long);
typedef int Ask(void ***, const unsigned char *);
static Ask *ask;
#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)

static void **table(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
    static const unsigned char rest[] = {0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2};
    static const unsigned char local[] = {0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93};
    unsigned char uuid[16] = {a, b, c, d};
    void **found;
    memcpy(uuid + 4, a == 0xc6 ? local : rest, 12);
    CHECK(ask(&found, uuid) == 0);
    return found;
}

static void call(void **of, int n) {
    CHECK(((Function *)of[n])(1, 2, 3, 4, 5, 6, 7) == 28);
    CHECK(((Function *)of[n + 1])(1, 2, 3, 4, 5, 6, 7) == -6);
}

static pthread_barrier_t start;
static void *thread(void *unused) {
    pthread_barrier_wait(&start);
    void **good = table(0x10, 0, 0, 0);
    for (int i = 0; i < 1000; i++) call(good, 1);
    return unused;
}

static void *open_driver(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    ask = (Ask *)dlsym(driver, "cuGetExportTable");
    CHECK(ask);
    return driver;
}

int main(int argc, char **argv) {
    void *driver = open_driver();
    const char *mode = argc > 1 ? argv[1] : "bad";
    if (!strcmp(mode, "bad")) {
        for (int twice = 0; twice < 2; twice++) {
            for (unsigned char n = 0x10; n <= 0x12; n++) call(table(n, 0, 0, 0), 1);
            CHECK(((Function *)table(0x13, 0, 0, 0)[1])(1, 2, 3, 4, 5, 6, 7) == 28);
            call(table(0x14, 0, 0, 0), 0);
            call(table(0x15, 0, 0, 0), 1);
            CHECK(table(0x16, 0, 0, 0));
            call(table(0x21, 0x31, 0x8c, 0x60), 1);
            call(table(0xc6, 0x93, 0x33, 0x6e), 0);
            CHECK(!strcmp(table(0x21, 0x31, 0x8c, 0x60)[3], "no function"));
        }
    } else if (!strcmp(mode, "threads")) {
        pthread_t threads[2];
        pthread_barrier_init(&start, NULL, 2);
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, thread, NULL);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    } else {
        for (int i = 0; i < 3; i++) {
            call(table(0x10, 0, 0, 0), 1);
            dlclose(driver);
            CHECK(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
            driver = open_driver();
        }
        call(table(0x10, 0, 0, 0), 1);
    }
    FILE *file = getenv("TABLES") ? fopen(getenv("TABLES"), "w") : NULL;
    if (file) fprintf(file, "%s\n", ((int (*)(void))dlsym(driver, "cuTableIsOriginal"))() ? "unchanged" : "replaced");
    puts("ok");
    return 0;
}
