/* The start of LLVM's and Intel's OpenMP runtimes, which importing PyTorch runs: ask RTLD_NEXT for one's own name and call what
 * comes back. An interposer that answers for itself instead of for the caller hands the function to itself: import torch never
 * ended (Project-HAMi/HAMi#2903). */
//: lib libomp_second.so -DLIBRARY
//: lib libomp_first.so -DLIBRARY
//: exe ompt -l:libomp_first.so -l:libomp_second.so
#include "fixture.h"

int ompt_start_tool(int depth);
#ifdef LIBRARY
int ompt_start_tool(int depth) {
    CHECK(depth < 2);
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "ompt_start_tool");
    return next ? next(depth + 1) : depth + 1;
}
#else
int main(void) {
    CHECK(ompt_start_tool(0) == 2);
    int (*f)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "ompt_start_tool");
    CHECK(f == ompt_start_tool && f(0) == 2);
    puts("ok");
}
#endif
