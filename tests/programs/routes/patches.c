/* A program that patches what dlsym gave it, as libucm of UCX does: it reads the instructions of the entry, copies them to a page
 * of its own with a jump back behind them, and puts a jump over them. It knows the instructions that libucm knows, and
 * refuses what it does not know. One patch keeps calls to itself. */
//: exe patches -l:libcuda.so.1
#include "fixture.h"
#include <sys/mman.h>

typedef CUresult function(long);
static unsigned char *page;

/* Length of one instruction that means the same elsewhere; 0: another one. */
static int length(const unsigned char *i) {
    int rex = (*i & 0xf0) == 0x40 ? *i++ : 0, prefix = rex ? 1 : 0;
    if ((rex == 0 || rex == 0x41) && (*i & 0xf8) == 0x50) return prefix + 1; /* push */
    if (rex == 0x48 && i[1] == 0xec) return i[0] == 0x83 ? 4 : i[0] == 0x81 ? 7 : 0; /* sub $imm,%rsp */
    return rex == 0x48 && i[0] == 0x89 && (i[1] & 0xc7) == 0x44 ? 5 : 0;             /* mov %reg,disp8(%rsp) */
}

/* Puts bytes over the entry of f; a function that does what f did. */
static function *patch(function *f, const void *bytes, int count) {
    unsigned char *entry = (unsigned char *)f, *copy = page, *at = copy, n = 0;
    for (int one; n < count; n += one) CHECK((one = length(entry + n)) > 0);
    memcpy(at, entry, n), at += n;
    void *back = entry + n;
    memcpy(at, "\xff\x25\0\0\0\0", 6), memcpy(at + 6, &back, 8); /* jmp *(%rip) */
    page = at + 14;
    unsigned char *low = (unsigned char *)((uintptr_t)entry & -4096ul);
    CHECK(mprotect(low, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    memcpy(entry, bytes, count);
    CHECK(mprotect(low, 8192, PROT_READ | PROT_EXEC) == 0);
    return (function *)copy;
}

static int near_calls, far_calls, kept_calls;
static function *real_near, *real_far;
static CUresult hook_near(long x) { near_calls++; return real_near(x); }
static CUresult hook_far(long x) { far_calls++; return real_far(x); }
static CUresult hook_kept(long x) { kept_calls++; return x != 7; }

/* mov $to,%rax; jmp *%rax */
static const void *far_jump(void *to) {
    static unsigned char code[12];
    return memcpy(code, "\x48\xb8", 2), memcpy(code + 2, &to, 8), memcpy(code + 10, "\xff\xe0", 2), code;
}

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    function *near = dlsym(driver, "cuFixtureNear"), *far = dlsym(driver, "cuFixtureFar"), *kept = dlsym(driver, "cuFixtureKept");
    CHECK(near == cuFixtureNear && near(7) == 0 && far(7) == 0 && kept(7) == 0);
    /* A relative jump of five bytes reaches a page that is near. */
    void *wanted = (void *)(((uintptr_t)near & -4096ul) - (64ul << 20));
    page = mmap(wanted, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, far_jump(hook_near), 12);
    int jump = (int)(page - ((unsigned char *)near + 5));
    unsigned char code[5] = {0xe9};
    memcpy(code + 1, &jump, 4), page += 16;
    real_near = patch(near, code, 5), real_far = patch(far, far_jump(hook_far), 12), patch(kept, far_jump(hook_kept), 12);
    for (int i = 0; i < 3; i++) CHECK(near(7) == 0 && cuFixtureNear(8) == 1 && far(7) == 0 && kept(7) == 0);
    CHECK(near_calls == 6 && far_calls == 3 && kept_calls == 3 && fixture_count("cuFixtureNear") == 7);
    puts("ok");
}
