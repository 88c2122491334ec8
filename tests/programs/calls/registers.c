/* The registers that carry arguments and results, one by one: six integer registers, al, xmm0-7, the first stack word, the rounding
 * mode, the stack's alignment; rax, rdx, xmm0, xmm1; and errno both ways. First by a lazy call that binds, then again. */
//: exe registers -Wl,-z,lazy -l:libcuda.so.1
#include "fixture.h"

struct result { uint64_t rax, rdx; double xmm0, xmm1; };
static const double in[8] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5};
void call_with_all(struct registers *seen, struct result *result, const double *in);
__asm__(".text\ncall_with_all:\n push %rbx\n push %rsi\n push $0x77\n" /* 0x77: the first stack word; rsp is a multiple of 16 */
    " movsd (%rdx),%xmm0\n movsd 8(%rdx),%xmm1\n movsd 16(%rdx),%xmm2\n movsd 24(%rdx),%xmm3\n"
    " movsd 32(%rdx),%xmm4\n movsd 40(%rdx),%xmm5\n movsd 48(%rdx),%xmm6\n movsd 56(%rdx),%xmm7\n"
    " mov $0x12,%esi\n mov $0x13,%edx\n mov $0x14,%ecx\n mov $0x18,%r8d\n mov $0x19,%r9d\n mov $8,%eax\n"
    " call cuFixtureRegisters@PLT\n"
    " pop %rcx\n pop %rsi\n pop %rbx\n mov %rax,(%rsi)\n mov %rdx,8(%rsi)\n movsd %xmm0,16(%rsi)\n movsd %xmm1,24(%rsi)\n ret\n");

int main(void) {
    uint32_t rounding;
    __asm__("stmxcsr %0" : "=m"(rounding));
    rounding |= 0x6000; /* towards zero */
    __asm__ volatile("ldmxcsr %0" ::"m"(rounding));
    for (int i = 0; i < 2; i++) {
        struct registers s = {0};
        struct result r = {0};
        call_with_all(&s, &r, in);
        CHECK((s.rax & 0xff) == 8 && s.rsi == 0x12 && s.rdx == 0x13 && s.rcx == 0x14 && s.r8 == 0x18 && s.r9 == 0x19);
        CHECK(!memcmp(s.xmm, in, sizeof in) && s.stack == 0x77 && s.misaligned == 0 && (s.mxcsr & 0x6000) == 0x6000);
        CHECK(r.rax == 0 && r.rdx == 0x1122 && r.xmm0 == 1.5 && r.xmm1 == 2.5);
        int seen = 0;
        errno = 33 + i;
        CHECK(cuFixtureErrno(&seen, 0) == 0 && seen == 33 + i && errno == 33 + i);
        CHECK(cuFixtureErrno(&seen, 44) == 0 && errno == 44);
        errno = 55;
        CHECK(dlsym(RTLD_DEFAULT, "cuInit") && errno == 55);
    }
    puts("ok");
}
