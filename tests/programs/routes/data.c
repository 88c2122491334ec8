/* Data of a watched library is data: read from a library built without it (where its type is unknown), copied into a program at
 * a fixed address, and found by dlsym. A table of data was once diverted like a function. */
//: lib libdata_user.so -DLIBRARY
//: exe data -l:libdata_user.so -l:libcurand.so.10
//: exe data_nopie -fno-pie -no-pie -l:libdata_user.so -l:libcurand.so.10
#include "fixture.h"

const int *table(void);
int sum(void);
#ifdef LIBRARY
static const int *const volatile in_data = curandFixtureTable;
const int *table(void) { return in_data; }
int sum(void) { return curandFixtureTable[0] + curandFixtureTable[1] + curandFixtureTable[2] + curandFixtureTable[3]; }
#else
int main(void) {
    CHECK(sum() == 100 && table() == curandFixtureTable && curandFixtureTable[3] == 40);
    CHECK(dlsym(RTLD_DEFAULT, "curandFixtureTable") == (void *)curandFixtureTable);
    void *h = dlopen("libcurand.so.10", RTLD_NOW);
    CHECK(((const int *)dlsym(h, "curandFixtureTable"))[2] == 30);
    CHECK(curandFixtureIfunc(0) == 7);
    puts("ok");
}
#endif
