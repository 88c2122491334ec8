/* Direct calls, linked in every way: bound at the first call, at start, without PLT, from a fixed address, through pointers in
 * data and in code. All five make the same calls, and a function's address is the same wherever it is asked for. */
//: exe lazy -Wl,-z,lazy -l:libcuda.so.1
//: exe now -Wl,-z,now -l:libcuda.so.1
//: exe noplt -fno-plt -l:libcuda.so.1
//: exe nopie -fno-pie -no-pie -Wl,-z,lazy -l:libcuda.so.1
//: exe nopie_now -fno-pie -no-pie -Wl,-z,now -l:libcuda.so.1
#include "fixture.h"

static CUresult (*volatile in_data[])(unsigned) = {cuInit};

int main(void) {
    CUdeviceptr p;
    CHECK(cuInit(0) == 0);
    CHECK(in_data[0](0) == 0);
    CUresult (*volatile taken)(CUdeviceptr *, size_t) = cuMemAlloc_v2;
    CHECK(taken(&p, 64) == 0 && p == 0x10000);
    CHECK(taken(&p, 0) == 1);
    CHECK(cuMemFree_v2(p) == 0);
    CHECK((void *)in_data[0] == (void *)cuInit && dlsym(RTLD_DEFAULT, "cuInit") == (void *)cuInit);
    CHECK(fixture_count("cuInit") == 2 && fixture_count("cuMemAlloc_v2") == 2 && fixture_count("cuMemFree_v2") == 1);
    puts("ok");
}
