/* Prints each Xid that NVML reports, until it is ended: `SECONDS XID`. The prototypes are written out, so that no header of
 * NVML is needed. Without the events of NVML it says so and ends with 3. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

struct event {
    void *device;
    unsigned long long kind, data;
    unsigned instance, compute_instance;
};
enum { XID = 8, TIMEOUT = 10, ALL = 16 };

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!nvml) return puts("no NVML"), 3;
    int (*init)(void), (*count)(unsigned *), (*get)(unsigned, void **), (*create)(void **);
    int (*add)(void *, unsigned long long, void *), (*wait)(void *, struct event *, unsigned);
    *(void **)&init = dlsym(nvml, "nvmlInit_v2");
    *(void **)&count = dlsym(nvml, "nvmlDeviceGetCount_v2");
    *(void **)&get = dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&create = dlsym(nvml, "nvmlEventSetCreate");
    *(void **)&add = dlsym(nvml, "nvmlDeviceRegisterEvents");
    *(void **)&wait = dlsym(nvml, "nvmlEventSetWait_v2");
    unsigned devices = 0, listening = 0;
    void *set, *device;
    if (!init || !count || !get || !create || !add || !wait || init() || count(&devices) || create(&set))
        return puts("no events of NVML"), 3;
    for (unsigned n = 0; n < devices && n < ALL; n++) listening += get(n, &device) == 0 && add(device, XID, set) == 0;
    if (!listening) return puts("no events of NVML"), 3;
    puts("listening");
    for (;;) {
        struct event event;
        int code = wait(set, &event, 1000);
        if (code == 0) printf("%ld %llu\n", (long)time(NULL), event.data);
        else if (code != TIMEOUT) return printf("wait: %d\n", code), 3;
    }
}
