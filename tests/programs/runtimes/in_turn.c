/* Threads one after the other, each of which calls the driver: the second takes over what the first has left. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int (*version)(int *);
static void *call(void *unused) {
    int n;
    return version(&n) == 0 ? unused : (void *)1;
}
int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *failed = 0;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    version = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
    if (init(0) != 0) return 1;
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        pthread_create(&t, 0, call, 0);
        pthread_join(t, &failed);
        if (failed) return 2;
    }
    puts("ok");
    return 0;
}
