/* A plugin that registers itself from its constructor, so that the program never asks dlsym for anything of it: its first calls
 * may go unseen and then the plugin must be listed; after the next dlsym of anybody they are seen. */
//: lib libplugin.so -DLIBRARY -Wl,-z,lazy -l:libcuda.so.1
//: exe plugin -rdynamic
#include "fixture.h"

void register_plugin(CUresult (*before)(int *), CUresult (*after)(unsigned));
#ifdef LIBRARY
static CUresult version(int *v) { return cuDriverGetVersion(v); }
static CUresult init(unsigned flags) { return cuInit(flags); }
__attribute__((constructor)) static void begin(void) { register_plugin(version, init); }
#else
static CUresult (*plugin_version)(int *), (*plugin_init)(unsigned);
void register_plugin(CUresult (*before)(int *), CUresult (*after)(unsigned)) { plugin_version = before, plugin_init = after; }

int main(void) {
    int v = 0;
    CHECK(dlopen("libplugin.so", RTLD_LAZY));
    CHECK(plugin_version(&v) == 0 && v == 12090);
    CHECK(dlsym(RTLD_DEFAULT, "free"));
    CHECK(plugin_init(0) == 0);
    puts("ok");
}
#endif
