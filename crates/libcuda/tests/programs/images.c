/* Images that are none: an error for each, in bounded time and memory, and the program goes on. */
#include "check.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define KIND_PTX 1
#define KIND_ELF 2
#define LZ4 0x2000
#define ZSTD 0x8000

static P module;

/* A fat binary of one entry. */
static unsigned char *fat(int kind, U flags, U full, const void *content, size_t size) {
    unsigned char *b = calloc(1, 81 + size);
    *(uint32_t *)b = 0xba55ed50; b[4] = 1; b[6] = 16; *(U *)(b + 8) = 64 + size;
    b[16] = kind; b[20] = 64; *(U *)(b + 24) = size; *(uint32_t *)(b + 32) = flags ? size : 0; b[44] = 90;
    *(U *)(b + 56) = flags; *(U *)(b + 72) = full;
    memcpy(b + 80, content, size);
    return b;
}

/* Zstandard: `blocks` blocks of 128 KiB zeros, in 4 bytes each. The first block holds `start`. */
static unsigned char *bomb(int blocks, const void *start, size_t len, size_t *size) {
    unsigned char *b = calloc(1, 16 + len + 4 * (size_t)blocks), *at = b;
    memcpy(at, "\x28\xb5\x2f\xfd\x00\x38", 6); at += 6;
    *at++ = len << 3; *at++ = len >> 5; *at++ = len >> 13; memcpy(at, start, len); at += len;
    for (int i = 0; i < blocks; i++, at += 4) {
        unsigned word = (i == blocks - 1) | 1 << 1 | (1 << 17) << 3;
        at[0] = word; at[1] = word >> 8; at[2] = word >> 16; at[3] = 0;
    }
    *size = at - b;
    return b;
}

/* A cubin with sections of one kind and content, which is all of the file; names end at the end of the file. */
typedef struct { uint32_t name, kind; U flags, address, offset, size; uint32_t link, info; U align, entry; } Section;
static unsigned char *elf(size_t size, int sections, int kind, int symbol) {
    unsigned char *b = calloc(1, size);
    size_t at = size - 64 * (size_t)sections;
    memset(b + 64, 'k', at - 64);
    memcpy(b, "\177ELF\2\1\1", 7); b[18] = 190;
    *(U *)(b + 40) = at; *(uint16_t *)(b + 58) = 64; *(uint16_t *)(b + 60) = sections; b[62] = 1;
    for (int i = 0; i < sections; i++) {
        Section *s = (Section *)(b + at) + i;
        *s = (Section){ .name = 64 + i, .kind = i > 1 ? kind : i ? 3 : 0, .offset = 64, .size = at - 64, .link = 1, .info = 64, .entry = 24 };
    }
    for (size_t i = 64; symbol && i + 24 <= at; i += 24) {
        *(uint32_t *)(b + i) = 64 + i % 4096; b[i + 4] = symbol; b[i + 5] = 0x10; *(uint16_t *)(b + i + 6) = 1;
        *(U *)(b + i + 8) = 0; *(U *)(b + i + 16) = at - 64;
    }
    return b;
}

/* The end of mapped memory: what begins here has `len` bytes. */
static unsigned char *at_the_end(const void *bytes, size_t len) {
    size_t pages = (len + 4095) / 4096 * 4096;
    unsigned char *b = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(b + pages, 4096, PROT_NONE);
    return memcpy(b + pages - len, bytes, len);
}

int main(void) {
    lib = dlopen("libcuda.so.1", RTLD_NOW);
    P context, link, function;
    size_t size;
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);

    /* text */
    IS(218, cuModuleLoadData, &module, HEAD ".visible .entry k(.param .align 0 .b8 a[4]){ret;}");
    IS(218, cuModuleLoadData, &module, HEAD ".visible .entry k(.param .v0 .u32 a){ret;}");
    IS(218, cuModuleLoadData, &module, HEAD ".visible .entry k(.param .b8 a[99999999999]){ret;}");
    OK(cuModuleLoadData, &module, HEAD ".global .b8 big[18446744073709551615];.visible .entry k(){ret;}");
    IS(2, cuModuleGetGlobal_v2, NUL, &size, module, "big");
    size = 40 << 20;
    char *list = malloc(size);
    memset(list, ',', size);
    memcpy(list, HEAD ".visible .entry k(", sizeof HEAD + 17);
    memcpy(list + size - 8, "){ret;}", 8);
    IS(218, cuModuleLoadData, &module, list);
    IS(200, cuModuleLoadData, &module, at_the_end(HEAD, sizeof HEAD - 1));
    IS(200, cuModuleLoadData, &module, at_the_end("x", 1));
    IS(200, cuModuleLoadData, &module, (P)16);

    /* wrappers */
    U wrapper[3] = { 0x466243b1 | 1ull << 32 }, other[3] = { 0x466243b1 | 1ull << 32, (U)wrapper };
    U inner[] = { (U)wrapper, (U)other, (U)HEAD, 16, (U)at_the_end("\x50\xed\x55\xba\1\0\x10\0", 8) };
    for (int i = 0; i < 5; i++) {
        wrapper[1] = inner[i];
        IS(200, cuModuleLoadData, &module, wrapper);
        IS(200, cuModuleLoadFatBinary, &module, wrapper);
    }

    /* fat binaries */
    unsigned char *b = fat(KIND_PTX, LZ4, 1ull << 62, "12345678", 8), *c;
    IS(200, cuModuleLoadData, &module, b);
    *(U *)(b + 72) = 1 << 20;
    IS(200, cuModuleLoadData, &module, b);
    *(U *)(b + 8) = ~0ull;
    IS(200, cuModuleLoadData, &module, b);
    *(U *)(b + 24) = ~0ull - 64;
    IS(200, cuModuleLoadData, &module, b);
    *(U *)(b + 24) = 0;
    *(uint32_t *)(b + 20) = 0;
    IS(200, cuModuleLoadData, &module, b);
    /* a fat binary in each entry of a fat binary */
    long n = 100000;
    b = calloc(1, n * 80 + 256);
    for (long j = 0; j < n; j++) memcpy(b + j * 80, fat(KIND_PTX, 0, 0, "", 0), 80), *(U *)(b + j * 80 + 8) = (n - j) * 80 - 16, *(U *)(b + j * 80 + 24) = (n - j) * 80 - 80;
    b[80] = 0x50;
    IS(218, cuModuleLoadData, &module, fat(KIND_PTX, 0, 0, HEAD "garbage", sizeof HEAD + 7));
    int got = CALL(cuModuleLoadData, &module, b);
    TRUE(got == 200);
    /* 8 GiB of zeros: a size that is too small, too large for code, and a quarter of a GiB that is no code */
    c = bomb(65536, "\177ELF", 4, &size);
    U sizes[] = { 100, 4 + (65536ull << 17), 1ull << 28, 0, ~0ull };
    for (int i = 0; i < 5; i++) IS(200, cuModuleLoadData, &module, fat(KIND_ELF, ZSTD, sizes[i], c, size));
    c = bomb(100, "no code", 7, &size);
    IS(200, cuModuleLoadData, &module, fat(KIND_ELF, ZSTD, 7 + (100 << 17), c, size));
    IS(200, cuModuleLoadData, &module, fat(KIND_PTX, ZSTD, 7 + (100 << 17), c, size));

    /* cubins of 1 MiB: tables of symbols, variables, names and attributes that are all of the file */
    struct { int sections, kind, symbol; } all[] = {
        { 8000, 2, 0 }, { 8000, 2, 2 }, { 2, 2, 2 }, { 2, 2, 1 }, { 8000, 1, 0 }, { 8000, 0x70000000, 0 }, { 16000, 2, 1 }, { 3, 2, 2 } };
    for (int i = 0; i < 8; i++) {
        b = elf(1 << 20, all[i].sections, all[i].kind, all[i].symbol);
        got = CALL(cuModuleLoadData, &module, b);
        TRUE(got == 200 || got == 0);
        TRUE(CALL(cuModuleLoadData, &module, fat(KIND_ELF, 0, 0, b, 1 << 20)) == got);
        *(uint16_t *)(b + 58) = 0;
        IS(200, cuModuleLoadData, &module, b);
        *(uint16_t *)(b + 58) = 65535;
        IS(200, cuModuleLoadData, &module, b);
    }
    IS(200, cuModuleLoadData, &module, at_the_end(b, 64));

    /* numbers that a launch or a question multiplies and divides by */
    OK(cuModuleLoadData, &module, HEAD ".visible .entry k(.param .u32 a) .maxntid 99999,99999,99999\n{ret;}");
    OK(cuModuleGetFunction, &function, module, "k");
    int count;
    for (int i = 0; i < 3; i++) OK(cuOccupancyMaxActiveBlocksPerMultiprocessor, &count, function, 32, SIZE(~0ull - 1024 * i));

    /* pieces for the linker, and files */
    OK(cuLinkCreate_v2, 0, NUL, NUL, &link);
    IS(1, cuLinkAddData_v2, link, 1, HEAD, SIZE(1ull << 46), "name", 0, NUL, NUL);
    IS(200, cuModuleLoad, &module, "/dev/zero");
    IS(200, cuLinkAddFile_v2, link, 1, "/dev/zero", 0, NUL, NUL);
    mkfifo("fifo", 0600);
    IS(200, cuModuleLoad, &module, "fifo");
    IS(200, cuModuleLoad, &module, "/proc/self/pagemap");
    IS(200, cuLinkAddFile_v2, link, 1, "fifo", 0, NUL, NUL);
    unlink("fifo");
    int fd = open("sparse", O_RDWR | O_CREAT | O_TRUNC, 0600);
    TRUE(ftruncate(fd, 1ll << 40) == 0);
    IS(200, cuModuleLoad, &module, "sparse");
    unlink("sparse");

    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    TRUE(used.ru_maxrss < 600 << 10);
    puts("all is well");
    return 0;
}
