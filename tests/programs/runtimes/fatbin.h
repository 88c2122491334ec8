/* PTX in a fat binary, as a compiler's wrapper holds it. Whoever includes this has the text in `ptx`, an array. */
#include <stdint.h>
#include <string.h>

static struct {
    uint32_t magic; uint16_t version, head; uint64_t size;
    struct { uint16_t kind, version; uint32_t head; uint64_t size; uint32_t packed, options; uint16_t minor, major;
             uint32_t arch, name, name_len; uint64_t flags, zero, full; } entry;
    char text[(sizeof ptx + 7) / 8 * 8];
} fatbin;
static struct { uint32_t magic, version; const void *data; void *unused; } wrapper = { 0x466243b1, 1, &fatbin, NULL };

/* Fills it: what __cudaRegisterFatBinary takes. */
static void *fat_binary(unsigned arch) {
    fatbin.magic = 0xba55ed50, fatbin.version = 1, fatbin.head = 16, fatbin.size = sizeof fatbin - 16;
    fatbin.entry.kind = 1, fatbin.entry.version = 0x101, fatbin.entry.head = 64, fatbin.entry.size = sizeof fatbin.text;
    fatbin.entry.major = 7, fatbin.entry.arch = arch, fatbin.entry.flags = 0x11;
    memcpy(fatbin.text, ptx, sizeof ptx);
    return &wrapper;
}
