/* A program that finds cuInit by its own search of libcuda's tables: no route hands the address out, so no call can be seen. The end
 * must say so; also where the program leaves by _exit, if it looked anything up before. */
//: exe elf_tables -l:libfixture.so
//: exe elf_tables_exit -DQUICK -l:libfixture.so
#include "fixture.h"
#include <link.h>

/* By the hash table that the loader itself uses. */
static void *search(struct link_map *map, const char *name) {
    const ElfW(Sym) *symbols = 0;
    const char *texts = 0;
    const uint32_t *table = 0;
    for (ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) texts = (const char *)d->d_un.d_ptr;
        if (d->d_tag == DT_GNU_HASH) table = (const uint32_t *)d->d_un.d_ptr;
    }
    CHECK(symbols && texts && table);
    uint32_t hash = 5381, count = table[0], first = table[1];
    for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
    const uint32_t *buckets = (const uint32_t *)((const uint64_t *)(table + 4) + table[2]), *chain = buckets + count;
    for (uint32_t n = buckets[hash % count]; n; n++) {
        uint32_t here = chain[n - first];
        if ((here | 1) == (hash | 1) && strcmp(texts + symbols[n].st_name, name) == 0)
            return (void *)(map->l_addr + symbols[n].st_value);
        if (here & 1) break;
    }
    return 0;
}

int main(void) {
    struct link_map *map = 0;
    void *h = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(h && dlinfo(h, RTLD_DI_LINKMAP, &map) == 0);
    CUresult (*init)(unsigned) = (CUresult (*)(unsigned))search(map, "cuInit");
    CHECK(init && init(0) == 0 && fixture_count("cuInit") == 1);
#ifdef QUICK
    CHECK(dlsym(RTLD_DEFAULT, "puts"));
    dprintf(1, "ok\n");
    _exit(0);
#endif
    puts("ok");
}
