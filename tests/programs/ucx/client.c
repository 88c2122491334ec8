/* Asks libucm for memory events, and allocates and frees five times. Its argument is the folder of UCX's libraries. libucm has
 * to patch the entries of the driver's functions in place: without them it sees nothing. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

enum { ALLOC_AND_FREE = 3 << 20, PRIORITY = 1000 };
static int events;
static void on_event(int type, void *event, void *argument) { (void)type, (void)event, (void)argument, events++; }

int main(int count, char **arguments) {
    if (count < 2 || chdir(arguments[1])) return 2;
    dlopen("./libucs.so.0", RTLD_NOW | RTLD_GLOBAL);
    void *ucm = dlopen("./libucm.so.0", RTLD_NOW | RTLD_GLOBAL), *cuda = dlopen("./ucx/libucm_cuda.so.0", RTLD_NOW | RTLD_GLOBAL);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!ucm || !cuda || !driver) return fprintf(stderr, "%s\n", dlerror()), 2;
    int (*set)(int, int, void *, void *) = (int (*)(int, int, void *, void *))dlsym(ucm, "ucm_set_event_handler");
    printf("hooks %d, ", set(ALLOC_AND_FREE, PRIORITY, (void *)on_event, NULL));
    int (*allocate)(unsigned long *, unsigned long) = (int (*)(unsigned long *, unsigned long))dlsym(driver, "cuMemAlloc_v2");
    int (*release)(unsigned long) = (int (*)(unsigned long))dlsym(driver, "cuMemFree_v2");
    for (int i = 0; i < 5; i++) {
        unsigned long address = 0;
        allocate(&address, 4096), release(address);
    }
    printf("events %d\n", events);
}
