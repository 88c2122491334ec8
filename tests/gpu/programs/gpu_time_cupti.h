/* The few declarations of CUPTI that these programs need, so that no header of NVIDIA is needed; they have the same
 * values from CUPTI 11.7 to 13.5. The library is the one that the process has loaded, else CUPTI_LIB. */
#ifndef GPU_TIME_CUPTI_H
#define GPU_TIME_CUPTI_H
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUPTI_KERNEL = 3, CUPTI_CONCURRENT_KERNEL = 10, CUPTI_FORCED = 1 };
/* Offsets in the record of a kernel. */
enum { CUPTI_START = 16, CUPTI_END = 24, CUPTI_NAME = 104 };

typedef void (*cupti_take_buffer)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*cupti_give_buffer)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

static struct {
    int (*register_callbacks)(cupti_take_buffer, cupti_give_buffer);
    int (*enable)(uint32_t kind);
    int (*disable)(uint32_t kind);
    int (*flush)(uint32_t flag);
    int (*next)(uint8_t *buffer, size_t valid, uint8_t **record);
    int (*dropped)(void *context, uint32_t stream, size_t *count);
    int (*set_attribute)(uint32_t attribute, size_t *size, void *value);
    void *library;
} cupti;

/* 0, or what is missing. */
static const char *cupti_load(void)
{
    static const char *const loaded[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7"};
    void *library = NULL;
    for (size_t n = 0; !library && n < sizeof loaded / sizeof *loaded; n++)
        library = dlopen(loaded[n], RTLD_NOW | RTLD_NOLOAD);
    if (!library && getenv("CUPTI_LIB") && *getenv("CUPTI_LIB"))
        library = dlopen(getenv("CUPTI_LIB"), RTLD_NOW);
    if (!library)
        return "no libcupti";
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"cuptiActivityRegisterCallbacks", &cupti.register_callbacks},
        {"cuptiActivityEnable", &cupti.enable},
        {"cuptiActivityDisable", &cupti.disable},
        {"cuptiActivityFlushAll", &cupti.flush},
        {"cuptiActivityGetNextRecord", &cupti.next},
        {"cuptiActivityGetNumDroppedRecords", &cupti.dropped},
        {"cuptiActivitySetAttribute", &cupti.set_attribute},
    };
    for (size_t n = 0; n < sizeof functions / sizeof *functions; n++) {
        void *function = dlsym(library, functions[n].name);
        if (!function)
            return functions[n].name;
        memcpy(functions[n].place, &function, sizeof function);
    }
    cupti.library = library;
    return NULL;
}

/* A function that not every version has, or NULL. */
static inline void *cupti_function(const char *name)
{
    return dlsym(cupti.library, name);
}

static inline uint32_t cupti_kind(const uint8_t *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    return kind;
}

static inline uint64_t cupti_word(const uint8_t *record, size_t offset)
{
    uint64_t word;
    memcpy(&word, record + offset, sizeof word);
    return word;
}
#endif
