/* Plugins whose constructors call: opened, closed, and another one in its place, with no look-up in between by which anybody would notice.
 * Each call's stack must name the plugin that was there then. The callback of a call calls too: only the outer call has a stack, unless
 * a filter says otherwise. And one file in a folder that the program has gone to, which is each time another plugin. */
//: lib stacks_plugin_one.so -DBEGINS=one_begins
//: lib stacks_plugin_two.so -DBEGINS=two_begins
//: exe stacks_plugins -rdynamic -l:libcuda.so.1
//: exe stacks_reloaded -rdynamic -l:libcuda.so.1 -DRELOADED
#include "fixture.h"

void from_plugin(void);

#ifdef BEGINS
__attribute__((constructor)) void BEGINS(void) { from_plugin(); }
#else
static CUdeviceptr p;
void from_plugin(void) { CHECK(cuMemAlloc_v2(&p, 64) == 0); }
__attribute__((noinline)) void called_back(void *data) {
    (void)data;
    CHECK(cuMemAlloc_v2(&p, 128) == 0);
}
static void open_and_close(const char *file) {
    void *plugin = dlopen(file, RTLD_NOW);
    CHECK(plugin && !dlclose(plugin));
}
#ifdef RELOADED
/* Built anew, as it were: each file that is named, as `now.so`. */
int main(int n, char **files) {
    CHECK(n < 2 || chdir(files[1]) == 0);
    for (int i = 2; i < n; i++) {
        unlink("now.so");
        CHECK(link(files[i], "now.so") == 0);
        open_and_close("./now.so");
    }
    puts("ok");
}
#else
int main(void) {
    open_and_close("stacks_plugin_one.so");
    open_and_close("stacks_plugin_two.so");
    open_and_close("stacks_plugin_one.so");
    CHECK(cuFixtureCall(called_back, 0) == 0);
    puts("ok");
}
#endif
#endif
