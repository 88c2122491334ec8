/* Opens libcuda by a path that leads to another file, as programs do that know where NVIDIA's driver is: the functions
 * are those of the driver that cutap gives. Without a driver of cutap it is that other file.
 *
 *     opened_driver PATH */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int (*init)(unsigned), (*count)(int *), devices = -1;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        puts(dlerror());
        return 2;
    }
    struct link_map *map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    const char *folder = strstr(map->l_name, "/sim/") ? "sim" : strstr(map->l_name, "/cudest/") ? "cudest" : "other";
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&count = dlsym(library, "cuDeviceGetCount");
    if (!init || !count) {
        printf("%s: no driver\n", folder);
        return 1;
    }
    int code = init(0);
    count(&devices);
    printf("%s: cuInit %d, devices %d\n", folder, code, devices > 0);
    /* What is no driver is opened as it is named. */
    printf("%s\n", dlopen("/no/libcudart.so", RTLD_NOW) ? "opened" : dlerror());
    return 0;
}
