/* A call whose caller's frame is at most 64 bytes below an unmapped page, as on a fibre: whoever copies stack words blindly faults.
 * Then the same with seven arguments, whose last word is the last that is mapped. */
//: exe guard_page -l:libcuda.so.1
#include "fixture.h"
#include <sys/mman.h>

/* On a stack that ends at `top`: rsp is top - 64 at the call, so the callee's first stack word is at top - 64. */
long call_at(void *top, void *function, long a, long b);
__asm__(".text\ncall_at:\n push %rbx\n mov %rsp,%rbx\n lea -64(%rdi),%rsp\n mov %rsi,%rax\n mov %rdx,%rdi\n mov %rcx,%rsi\n"
    " call *%rax\n mov %rbx,%rsp\n pop %rbx\n ret\n");
long call_seven_at(void *top, void *function);
__asm__(".text\ncall_seven_at:\n push %rbx\n mov %rsp,%rbx\n lea -16(%rdi),%rsp\n mov %rsi,%rax\n movq $7,(%rsp)\n mov $1,%edi\n"
    " mov $2,%esi\n mov $3,%edx\n mov $4,%ecx\n mov $5,%r8d\n mov $6,%r9d\n call *%rax\n mov %rbx,%rsp\n pop %rbx\n ret\n");

int main(void) {
    size_t size = 1 << 18;
    char *low = mmap(0, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *top = low + size;
    CHECK(low != MAP_FAILED && munmap(top, 4096) == 0);
    CHECK(mmap(top, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == top);
    int v = 0;
    CUdeviceptr p = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(call_at(top, (void *)cuInit, 0, 0) == 0);
        CHECK(call_at(top, (void *)cuDriverGetVersion, (long)&v, 0) == 0 && v == 12090);
        CHECK(call_at(top, (void *)cuMemAlloc_v2, (long)&p, 64) == 0 && p == 0x10000);
        CHECK(call_seven_at(top, (void *)cuFutureThing_v9) == 0);
    }
    puts("ok");
}
