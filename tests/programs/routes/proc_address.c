/* cuGetProcAddress with four and with five arguments, asked by link, through dlsym and through itself: each answer and code is
 * the driver's own, and each function handed out is seen when it is called. */
//: exe proc_address -l:libcuda.so.1
#include "fixture.h"

typedef CUresult ask4(const char *, void **, int, uint64_t);
typedef CUresult ask5(const char *, void **, int, uint64_t, int *);
static ask4 *get4;
static ask5 *get5;

static void answer(const char *name, int version, uint64_t flags, CUresult code, int status) {
    void *a = (void *)7, *b = (void *)7;
    int s = 7;
    CHECK(get5(name, &a, version, flags, &s) == code && s == status);
    CHECK(get5(name, &b, version, flags, 0) == code && a == b);
    CHECK(get4(name, &b, version, flags) == code && a == b);
    CHECK(status == 7 ? a == (void *)7 : status ? !a : !!a);
}
static void all(void) {
    void *f = 0, *g = 0;
    int v = 0;
    answer("cuDriverGetVersion", 12000, 0, 0, 0);
    answer("cuNobodyKnows", 12000, 0, 500, 1);
    answer("cuIpcOpenMemHandle", 10020, 0, 500, 2); /* version too old */
    answer("cuStreamSynchronize", 12000, 3, 1, 7);  /* both stream flags */
    answer("", 12000, 0, 500, 1);
    CHECK(get5("cuInit", 0, 12000, 0, 0) == 1 && get4(0, &f, 12000, 0) == 1);
    CHECK(get5("cuDriverGetVersion", &f, 12000, 0, 0) == 0 && ((CUresult(*)(int *))f)(&v) == 0 && v == 12090);
    CHECK(get4("cuStreamSynchronize", &f, 12000, 1) == 0 && ((CUresult(*)(void *))f)(0) == 0);
    CHECK(get4("cuStreamSynchronize", &g, 12000, 2) == 0 && ((CUresult(*)(void *))g)(0) == 0 && f != g);
    CHECK(get5("cuFutureThing", &f, 13000, 0, 0) == 0 && ((__typeof(&cuFutureThing_v9))f)(1, 2, 3, 4, 5, 6, 7) == 0);
}
int main(void) {
    get4 = cuGetProcAddress, get5 = cuGetProcAddress_v2;
    all();
    get4 = (ask4 *)dlsym(RTLD_DEFAULT, "cuGetProcAddress"), get5 = (ask5 *)dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2");
    all();
    CHECK(get4("cuGetProcAddress", (void **)&get4, 11030, 0) == 0 && get4 == cuGetProcAddress);
    CHECK(get5("cuGetProcAddress", (void **)&get5, 12000, 0, 0) == 0 && get5 == cuGetProcAddress_v2);
    all();
    const void *table = (void *)7;
    CHECK(cuGetExportTable(&table, "0123456789abcdef") == 500 && !table);
    puts("ok");
}
