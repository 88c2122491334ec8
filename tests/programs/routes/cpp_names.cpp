// A C++ function of a watched library, with more by value than any C function of CUDA: called right, and off unless asked for.
//: exe cpp_names -l:libcusparse.so.12
#include "fixture.h"

struct huge { long word[64]; };
namespace cusparse { long sum(huge by_value, long last); }
extern "C" int cusparseGetVersion(void *handle, int *version);

int main() {
    huge h;
    int v = 0;
    for (int i = 0; i < 64; i++) h.word[i] = i;
    CHECK(cusparse::sum(h, 4) == 2020 && cusparse::sum(h, 5) == 2021);
    long (*f)(huge, long) = (long (*)(huge, long))dlsym(RTLD_DEFAULT, "_ZN8cusparse3sumE4hugel");
    CHECK(f && f(h, 6) == 2022);
    CHECK(cusparseGetVersion(0, &v) == 0 && v == 12);
    puts("ok");
}
