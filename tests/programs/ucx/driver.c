/* A driver for client.c. Its entries are the first instructions of NVIDIA's, which libucm knows; behind them is nothing. */
#define ENTRY(name, body) \
    static __attribute__((used)) int does_##name body \
    __asm__(".globl " #name "\n.type " #name ",@function\n.p2align 4\n" #name ":\npush %r15\npush %r14\npush %r13\npush %r12\npush %rbp\n" \
        "push %rbx\nsub $0x18,%rsp\ncall does_" #name "\nadd $0x18,%rsp\npop %rbx\npop %rbp\npop %r12\npop %r13\npop %r14\npop %r15\nret\n");
#define SUCCEEDS(name) ENTRY(name, (void) { return 0; })
SUCCEEDS(cuInit) SUCCEEDS(cuMemAlloc) SUCCEEDS(cuMemAllocAsync) SUCCEEDS(cuMemAllocFromPoolAsync) SUCCEEDS(cuMemAllocManaged)
SUCCEEDS(cuMemAllocPitch) SUCCEEDS(cuMemAllocPitch_v2) SUCCEEDS(cuMemFree) SUCCEEDS(cuMemFreeAsync) SUCCEEDS(cuMemFreeHost)
SUCCEEDS(cuMemFreeHost_v2) SUCCEEDS(cuMemFree_v2) SUCCEEDS(cuMemGetAddressRange_v2) SUCCEEDS(cuMemMap) SUCCEEDS(cuMemUnmap)
ENTRY(cuMemAlloc_v2, (unsigned long *address, unsigned long bytes) { *address = 0x7f0000000000 + 0 * bytes; return 0; })
