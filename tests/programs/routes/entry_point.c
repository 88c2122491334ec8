/* Driver functions that a runtime hands out: cudaGetDriverEntryPoint and its successor. The runtime is linked here, so its
 * symbol version stands in the reference, and dlvsym must find the same functions. */
//: exe entry_point -Wl,-z,lazy -l:libcudart.so.12
#include "fixture.h"

int main(void) {
    void *f = 0;
    int v = 0, status = -1;
    CHECK(cudaGetDriverEntryPoint("cuDriverGetVersion", &f, 0, &status) == 0 && f && status == 0);
    CHECK(((CUresult(*)(int *))f)(&v) == 0 && v == 12090);
    CHECK(cudaGetDriverEntryPointByVersion("cuInit", &f, 12090, 0, &status) == 0 && f && status == 0);
    CHECK(((CUresult(*)(unsigned))f)(0) == 0);
    CHECK(cudaGetDriverEntryPoint("cuNobodyKnows", &f, 0, &status) == 500 && !f && status == 1);
    void *versioned = dlvsym(RTLD_DEFAULT, "cudaRuntimeGetVersion", "libcudart.fixture");
    CHECK(versioned && versioned == dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion") && versioned == (void *)cudaRuntimeGetVersion);
    CHECK(((int (*)(int *))versioned)(&v) == 0 && v == 12090);
    CHECK(!dlvsym(RTLD_DEFAULT, "cudaRuntimeGetVersion", "NO_SUCH_VERSION"));
    puts("ok");
}
