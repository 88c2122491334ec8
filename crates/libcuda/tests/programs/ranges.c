/* Virtual memory management: memory mapped at reserved addresses, twice, across pieces, handed on as a file. */
#include "check.h"

static const U page = 2 << 20;
struct properties { int kind, handles, place, id; P win; char rest[8]; };
struct access { int place, id, flags; };

int main(void) {
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    P context;
    U start, other, first, second, again, base, bytes_free, total, before;
    struct properties what = { 1, 0, 1, 0 }, told;
    struct access access = { 1, 0, 3 };
    char *bytes = malloc(2 * page), *back = malloc(2 * page);
    for (U i = 0; i < 2 * page; i++) bytes[i] = i * 7 + i / 256;
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    OK(cuMemGetInfo_v2, &before, &total);
    OK(cuMemAddressReserve, &start, 4 * page, (U)0, (U)0, (U)0);
    OK(cuMemAddressReserve, &other, page, 4 * page, (U)0, (U)0);
    TRUE(start % page == 0 && other % (4 * page) == 0);
    OK(cuMemCreate, &first, page, &what, (U)0);
    OK(cuMemCreate, &second, page, &what, (U)0);
    OK(cuMemGetInfo_v2, &bytes_free, &total);
    TRUE(before - bytes_free == 2 * page);
    OK(cuMemMap, start, page, (U)0, first, (U)0);
    OK(cuMemMap, start + page, page, (U)0, second, (U)0);
    IS(1, cuMemcpyHtoD_v2, start, bytes, SIZE(16)); /* no access yet */
    OK(cuMemSetAccess, start, 2 * page, &access, SIZE(1));
    OK(cuMemcpyHtoD_v2, start, bytes, SIZE(2 * page)); /* over both pieces */
    IS(1, cuMemcpyHtoD_v2, start, bytes, SIZE(3 * page));
    /* the second piece seen at another address */
    OK(cuMemMap, other, page, (U)0, second, (U)0);
    OK(cuMemSetAccess, other, page, &access, SIZE(1));
    OK(cuMemcpyDtoH_v2, back, other, SIZE(page));
    TRUE(!memcmp(back, bytes + page, page));
    OK(cuMemRetainAllocationHandle, &again, other + 100);
    TRUE(again == second);
    OK(cuMemGetAllocationPropertiesFromHandle, &told, second);
    TRUE(told.kind == 1 && told.place == 1 && told.id == 0);
    OK(cuMemRelease, again);
    OK(cuMemRelease, first);
    OK(cuMemRelease, second);
    IS(1, cuMemRelease, second);
    OK(cuMemUnmap, start, 2 * page);
    OK(cuMemcpyDtoH_v2, back, other, SIZE(page)); /* still mapped there */
    TRUE(!memcmp(back, bytes + page, page));
    OK(cuMemUnmap, other, page);
    OK(cuMemGetInfo_v2, &bytes_free, &total);
    TRUE(before == bytes_free);
    /* as a file, and back */
    int file = -1;
    what.handles = 1;
    OK(cuMemCreate, &first, page, &what, (U)0);
    OK(cuMemExportToShareableHandle, &file, first, 1, (U)0);
    OK(cuMemImportFromShareableHandle, &second, (P)(intptr_t)file, 1);
    OK(cuMemMap, start, page, (U)0, first, (U)0);
    OK(cuMemMap, other, page, (U)0, second, (U)0);
    OK(cuMemSetAccess, start, page, &access, SIZE(1));
    OK(cuMemSetAccess, other, page, &access, SIZE(1));
    OK(cuMemcpyHtoD_v2, start, bytes, SIZE(page));
    OK(cuMemcpyDtoH_v2, back, other, SIZE(page));
    TRUE(!memcmp(back, bytes, page));
    IS(1, cuMemImportFromShareableHandle, &second, (P)0, 1);
    IS(1, cuMemAddressFree, start, 4 * page);
    OK(cuMemUnmap, start, page);
    OK(cuMemAddressFree, start, 4 * page);
    IS(1, cuMemAddressFree, start, 4 * page);
    puts("all is well");
    return 0;
}
