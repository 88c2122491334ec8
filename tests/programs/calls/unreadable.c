/* A program unmaps constants of its own file, or takes the right to read from them and from its data. Their addresses go to calls that
 * ignore them, or that fail before they look: whoever reads there faults. With REFUSED the kernel copies no memory for anybody. */
//: exe unreadable -l:libcuda.so.1 -l:libcublas.so.13
//: exe unreadable_refused -DREFUSED=EPERM -l:libcuda.so.1 -l:libcublas.so.13
//: exe unreadable_refused_otherwise -DREFUSED=EACCES -l:libcuda.so.1 -l:libcublas.so.13
#include "fixture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { PAGE = 4096 };
#define ALIGNED __attribute__((aligned(PAGE)))
static const char unmapped[PAGE] ALIGNED = "unmapped.log", closed[PAGE] ALIGNED = "closed.log", readable[PAGE] ALIGNED = "readable.log";
static char variables[2 * PAGE] ALIGNED = {1};
static int version = 1;
static struct { uint32_t magic, version; const void *image, *unused; } wrapper = {0x466243b1, 1, &wrapper, 0};

static void refuse_to_copy(void) {
#ifdef REFUSED
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | REFUSED),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
#endif
}

int main(void) {
    void *f, *module;
    char *closed_data = variables + PAGE;
    refuse_to_copy();
    CHECK(munmap((void *)unmapped, PAGE) == 0 && mprotect((void *)closed, PAGE, PROT_NONE) == 0);
    memcpy(closed_data - 12, ".version 8.0", 12); /* a text without its zero, up to what is closed */
    CHECK(mprotect(closed_data, PAGE, PROT_NONE) == 0);

    CHECK(cublasLoggerConfigure(1, 1, 1, unmapped) == 0 && cublasLoggerConfigure(1, 1, 1, closed) == 0);
    CHECK(cublasLoggerConfigure(1, 1, 1, readable) == 0);
    CHECK(cublasGetVersion_v2(FIXTURE_LEAVES_OUTPUT, (int *)closed_data) == 0);
    CHECK(cublasGetVersion_v2(0, &version) == 0 && version == 13);
    CHECK(cuGetExportTable((const void **)&f, closed) == 500);
    CHECK(cuGetProcAddress_v2(closed, &f, 12000, 3, 0) == 1);
    CHECK(cuGetProcAddress_v2("cuInit", &f, 12000, 0, 0) == 0 && ((int (*)(unsigned))f)(0) == 0);
    const void *images[] = {unmapped, closed, closed_data - 12, &wrapper};
    for (int i = 0; i < 4; i++) CHECK(cuModuleLoadData(&module, images[i]) == 200);
    puts("ok");
}
