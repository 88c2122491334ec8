/* A constructor that runs before anybody's preload could be ready: the program's own .preinit_array asks dlsym and calls CUDA. */
//: exe preinit -l:libcuda.so.1
#include "fixture.h"

static int early;
static void before_constructors(void) {
    CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit");
    early = init && init(0) == 0 && cuMemFree_v2(1) == 0;
}
__attribute__((section(".preinit_array"), used)) static void (*entry)(void) = before_constructors;

int main(void) {
    int v = 0;
    CHECK(early && cuDriverGetVersion(&v) == 0 && v == 12090);
    puts("ok");
}
