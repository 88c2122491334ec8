/* Calls of a shared runtime by bindings, and by an address that no route hands out: found in its symbol table by hand. What goes wrong: a
 * function whose every call comes through a slot is still reported by the runtime (slow), or one that has other callers is not (missed).
 * The arguments are commands: one behind each part. */
#define _GNU_SOURCE
#include "cudart.h"
#include <link.h>

/* A function of a loaded library as its symbol table has it: those of names and of symbols lie side by side. */
static void *by_hand(const char *library, const char *name) {
    for (struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
        const ElfW(Sym) *symbols = NULL;
        const char *names = NULL;
        if (!strstr(m->l_name, library)) continue;
        for (const ElfW(Dyn) *d = m->l_ld; d->d_tag != DT_NULL; d++) {
            if (d->d_tag == DT_SYMTAB) symbols = (void *)d->d_un.d_ptr;
            if (d->d_tag == DT_STRTAB) names = (void *)d->d_un.d_ptr;
        }
        for (const ElfW(Sym) *s = symbols; (const char *)s < names; s++)
            if (s->st_value && !strcmp(names + s->st_name, name)) return (void *)(m->l_addr + s->st_value);
    }
    return NULL;
}

int main(int count, char **commands) {
    int n;
    TRUE(count == 3);
    for (int i = 0; i < 40; i++) OK(cudaGetDevice(&n));
    TRUE(system(commands[1]) == 0);
    cudaError_t (*direct)(int *) = (cudaError_t (*)(int *))by_hand("libcudart", "cudaGetDeviceCount");
    TRUE(direct != NULL);
    for (int i = 0; i < 3; i++) OK(direct(&n));
    for (int i = 0; i < 40; i++) OK(cudaGetDeviceCount(&n));
    for (int i = 0; i < 3; i++) OK(direct(&n));
    for (int i = 0; i < 10; i++) OK(cudaGetDevice(&n));
    TRUE(system(commands[2]) == 0);
    direct = (cudaError_t (*)(int *))by_hand("libcudart", "cudaGetDevice");
    for (int i = 0; i < 5; i++) OK(direct(&n)); /* the first of these is not seen */
    /* No call of the driver would tell of these. */
    for (int i = 0; i < 40; i++) OK(cudaGetLastError());
    cudaError_t (*last)(void) = (cudaError_t (*)(void))by_hand("libcudart", "cudaGetLastError");
    for (int i = 0; i < 5; i++) OK(last());
    puts("done");
    return 0;
}
