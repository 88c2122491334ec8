/* What overhead.c and the driver in front of the driver (timestamp_shim.c) have in common. */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <x86intrin.h>

/* When the driver's function was entered and left last, by the time stamp counter. With `fenced` each reading waits until all before it is done. */
struct noted {
    uint64_t entered, left;
    int fenced;
};

static inline uint64_t now(int fenced)
{
    if (fenced)
        _mm_lfence();
    return __rdtsc();
}

/* The driver's own function, whatever dlsym says: through the hash table of its symbols. NULL: it has none. */
static void *own(void *driver, const char *name)
{
    struct link_map *map;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const uint32_t *table = NULL;
    if (dlinfo(driver, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            symbols = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB)
            names = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_GNU_HASH)
            table = (const void *)d->d_un.d_ptr;
    }
    if (symbols == NULL || names == NULL || table == NULL)
        return NULL;
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    /* Numbers of buckets, of the first symbol, and of the words of a filter; a word more; the filter, the buckets, the chains. */
    const uint32_t *buckets = table + 4 + table[2] * 2, *chains = buckets + table[0] - table[1];
    uint32_t i = buckets[hash % table[0]];
    for (; i != 0; i++) {
        if ((chains[i] | 1) == (hash | 1) && strcmp(names + symbols[i].st_name, name) == 0)
            return (char *)map->l_addr + symbols[i].st_value;
        if (chains[i] & 1)
            break;
    }
    return NULL;
}
