/* Launches of kernels with parameters of all sizes: in each kernel some, one behind the other, and on the stack of the caller, of another
 * thread's or in the heap. Every byte of a parameter tells its place. Each is launched three times in a row, for only the first one
 * has to ask the driver what the kernel takes. Prints what was passed, as cutap shows it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static launch_fn launch;
static void *context;
static int (*set_current)(void *);

enum { KERNELS = 60, MOST = 40 };
static int sizes[KERNELS][MOST], count[KERNELS];
static void *kernel[KERNELS];
static const int some[] = {4, 8, 1, 2, 16, 3, 5, 7, 12, 24, 9, 100, 6, 15, 31};

static void check(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: %d\n", what, code);
        exit(1);
    }
}

static unsigned char byte_of(int k, int n, int i) { return (unsigned char)(k * 31 + n * 7 + i + 1); }

static void say(int k) {
    printf("k%d", k);
    for (int n = 0; n < count[k]; n++) {
        printf(" ");
        for (int i = 0; i < sizes[k][n]; i++) printf("%02x", byte_of(k, n, i));
    }
    printf("\n");
}

/* With the parameters behind each other at `room`, at an odd place if `odd`. */
static void with(int k, unsigned char *room, void **array, int odd) {
    unsigned char *at = room + odd;
    for (int n = 0; n < count[k]; n++) {
        array[n] = at;
        for (int i = 0; i < sizes[k][n]; i++) *at++ = byte_of(k, n, i);
    }
    check(launch(kernel[k], 1, 2, 3, 4, 5, 6, 7, NULL, array, NULL), "cuLaunchKernel");
    say(k);
}

static void on_stack(int k, int odd) {
    unsigned char room[2048];
    void *array[MOST];
    with(k, room, array, odd);
}

static void *thread(void *number) {
    check(set_current(context), "cuCtxSetCurrent");
    on_stack((int)(intptr_t)number, 0);
    return NULL;
}

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module;
#define F(name) ((int (*)())dlsym(driver, name))
    launch = (launch_fn)dlsym(driver, "cuLaunchKernel");
    set_current = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    check(F("cuInit")(0), "cuInit");
    check(F("cuDevicePrimaryCtxRetain")(&context, 0), "cuDevicePrimaryCtxRetain");
    check(set_current(context), "cuCtxSetCurrent");
    static char ptx[1 << 18];
    char *to = ptx + sprintf(ptx, ".version 7.0\n.target sm_50\n.address_size 64\n");
    for (int k = 0; k < KERNELS; k++) {
        /* One of each size, then two of each pair of neighbours, then ever more. */
        int kinds = sizeof some / sizeof *some;
        count[k] = k < kinds ? 1 : k < 2 * kinds ? 4 : k - 2 * kinds + 1;
        if (k == KERNELS - 1) count[k] = MOST;
        to += sprintf(to, ".visible .entry k%d(", k);
        for (int n = 0; n < count[k]; n++) {
            int size = sizes[k][n] = some[k < kinds ? k : (k + n) % kinds];
            to += sprintf(to, "%s.param .align 1 .b8 p%d[%d]", n ? ", " : "", n, size);
        }
        to += sprintf(to, ")\n{ ret; }\n");
    }
    check(F("cuModuleLoadData")(&module, ptx), "cuModuleLoadData");
    for (int k = 0; k < KERNELS; k++) {
        char name[16];
        sprintf(name, "k%d", k);
        check(F("cuModuleGetFunction")(&kernel[k], module, name), "cuModuleGetFunction");
        on_stack(k, 0);
        on_stack(k, 0);
        on_stack(k, 3);
        unsigned char *room = malloc(2048);
        void *array[MOST], **far = malloc(sizeof array);
        with(k, room, array, 1);
        with(k, room, far, 0);
        free(room);
        free(far);
        pthread_t t;
        pthread_create(&t, NULL, thread, (void *)(intptr_t)k);
        pthread_join(t, NULL);
    }
    return 0;
}
