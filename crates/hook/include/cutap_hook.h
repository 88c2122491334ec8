/*
 * cutap_hook.h: write a library that changes CUDA calls.
 *
 *     #include "cutap_hook.h"
 *
 *     static void before(struct cutap_call *call) {
 *         if (cutap_unsigned(call, "bytesize") > 1ull << 30)
 *             cutap_return(call, 2);                         // CUDA_ERROR_OUT_OF_MEMORY
 *     }
 *     CUTAP_HOOK {
 *         cutap_register(CUTAP_DRIVER, "cuMemAlloc_v2", before, 0);
 *         return 0;
 *     }
 *
 *     gcc -shared -fPIC -O2 mine.c -o libmine.so && cutap run --hook ./libmine.so -- ./program
 *
 * C99 and C++11. The functions of a hook run on the program's own threads, in the middle of its calls: they must be
 * thread-safe. Calls that they make themselves pass without hooks. docs/reference/hook-api.md has the rest.
 */
#ifndef CUTAP_HOOK_H
#define CUTAP_HOOK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The contract described here; cutap refuses a library of another one. */
#define CUTAP_HOOK_VERSION 2

/* Layers, to be joined by |. */
#define CUTAP_LIBRARY 1u /* cuBLAS, cuDNN, ... */
#define CUTAP_RUNTIME 2u /* cuda*, of every copy of the runtime, linked-in ones too */
#define CUTAP_DRIVER 4u  /* cu* */
#define CUTAP_HIDDEN 8u  /* the functions in the tables that cuGetExportTable returns: 21318c60[51] */
#define CUTAP_ALL 7u     /* all but CUTAP_HIDDEN, which must be named */

/* What can be done with the calls of a function: bits of cutap_function.can. */
#define CUTAP_CAN_ANSWER 1u    /* answer without calling */
#define CUTAP_CAN_ARGUMENTS 2u /* change arguments */
#define CUTAP_CAN_RESULT 4u    /* change the result */

/* Kinds of parameters. */
#define CUTAP_OTHER 0    /* a struct by value, ... : read and write its bytes */
#define CUTAP_UNSIGNED 1 /* also flags and truth values */
#define CUTAP_SIGNED 2 /* also enums, and handles that are numbers (CUdevice) */
#define CUTAP_POINTER 3 /* also handles and device pointers */
#define CUTAP_FLOAT 4

/* What the functions below return. */
#define CUTAP_OK 0
#define CUTAP_ERR_NO_PARAM (-1) /* no such parameter, or nothing is known of the function's parameters */
#define CUTAP_ERR_NOT_SUPPORTED (-2) /* this function does not allow it: cutap_function.why */
#define CUTAP_ERR_NOT_NOW (-5)       /* the call is at another point, or this is not the call's own thread */
#define CUTAP_ERR_BAD_REQUEST (-6)   /* of a request: unknown layers, no name, or a name or library that is empty or longer than 128 */
#define CUTAP_ERR_TOO_MANY (-3)
#define CUTAP_ERR_NOT_IN_INIT (-4) /* only in cutap_hook_init */

struct cutap_parameter {
    const char *name;
    uint8_t kind;
    uint8_t reserved;
    uint16_t bytes;
    uint32_t place; /* cutap's */
};

struct cutap_function {
    uint32_t size;
    uint32_t layer;
    const char *name;          /* as exported: cuMemAlloc_v2, cudaMemcpyAsync_ptsz */
    const char *library;       /* SONAME, or the file name of the program that a runtime is linked into */
    uint32_t instance;         /* 1 and up: the copy of the runtime; 0 for others, and for bound runtime functions */
    uint32_t runtime_version;  /* 12090; 0 if it is not known */
    uint32_t can;              /* CUTAP_CAN_* */
    uint32_t parameters;       /* how many are known; 0: none, use cutap_raw_arg */
    const struct cutap_parameter *parameter;
    const char *why;           /* why something cannot be done, or NULL */
    void *original;            /* the function itself, past all hooks and unrecorded; NULL if not known */
};

struct cutap_call {
    const struct cutap_function *function;
    void *user;    /* as given to want */
    uint64_t user_data; /* the hook's own, for this call: 0 in before, kept until after */
    /* what follows is cutap's */
};

typedef void cutap_function_of_a_call(struct cutap_call *);

struct cutap_request {
    uint32_t size;
    uint32_t layers;     /* CUTAP_*, 0: all */
    const char *library; /* pattern with * and ?; NULL: any */
    /* pattern with * and ?; hidden:21318c60[51] is of CUTAP_HIDDEN, whatever layers has. A plain name is of each version of the function too, as with -e: cuMemAlloc of cuMemAlloc_v2,
     * cudaMemcpyAsync of cudaMemcpyAsync_ptsz. Of one library's plain names the nearest is taken. */
    const char *name;
    cutap_function_of_a_call *before;
    cutap_function_of_a_call *after;
    /* Called once, before the first call of the function; may be NULL. Other threads' calls of it wait for this, 100 ms at most. */
    void (*on_resolve)(const struct cutap_function *, void *user);
    void *user;
};

/* What cutap gives. Everything but add and environment takes a call that is going on. */
struct cutap_host {
    uint32_t version;
    uint32_t size;
    int (*add)(const struct cutap_request *);
    const char *(*environment)(const char *name);
    int (*index)(const struct cutap_function *, const char *parameter);
    int (*read)(const struct cutap_call *, int index, void *to, size_t bytes);
    int (*write)(struct cutap_call *, int index, const void *from, size_t bytes);
    int (*raw_arg)(const struct cutap_call *, int n, uint64_t *to);
    int (*answer)(struct cutap_call *, uint64_t result);
    int (*answer_float)(struct cutap_call *, double result);
    uint64_t (*result)(const struct cutap_call *);
    double (*result_float)(const struct cutap_call *);
    int (*set_result)(struct cutap_call *, uint64_t result);
    void *(*original)(const char *library, const char *name);
    void *(*instance_function)(const struct cutap_call *, const char *name);
    const char *(*kernel)(const struct cutap_call *);
    const void *(*caller)(const struct cutap_call *);
    int (*starting)(const struct cutap_call *);
    int (*output)(struct cutap_call *, int index, const void *from, size_t bytes); /* of cutap whose size covers it */
    void (*unknown)(const struct cutap_call *, const char *name, size_t length);                   /* of cutap whose size covers it */
};

#define CUTAP_EXPORT __attribute__((visibility("default")))

extern CUTAP_EXPORT const uint32_t cutap_hook_version;
CUTAP_EXPORT int cutap_hook_init(const struct cutap_host *host);

#ifndef CUTAP_HOOK_PLAIN

static const struct cutap_host *cutap __attribute__((unused));

/*
 * CUTAP_HOOK { cutap_register(...); return 0; }
 * Runs before the constructors of all libraries, and before libc has its environment: only say what you want, and
 * read settings with cutap_environment. A result other than 0 means that this library wants nothing after all.
 */
#define CUTAP_HOOK                                                   \
    const uint32_t cutap_hook_version = CUTAP_HOOK_VERSION;          \
    static int cutap_hook_wants(void);                               \
    int cutap_hook_init(const struct cutap_host *host) {             \
        cutap = host;                                                \
        return cutap_hook_wants();                                   \
    }                                                                \
    static int cutap_hook_wants(void)

#define CUTAP_INLINE static inline __attribute__((unused))

/* Only in CUTAP_HOOK. `name` as in struct cutap_request: cuMemAlloc is cuMemAlloc_v2 too. before and after may be NULL. */
CUTAP_INLINE int cutap_register(uint32_t layers, const char *name, cutap_function_of_a_call *before,
                            cutap_function_of_a_call *after) {
    struct cutap_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.layers = layers;
    request.name = name;
    request.before = before;
    request.after = after;
    return cutap->add(&request);
}

/* A variable of the environment, or NULL. */
CUTAP_INLINE const char *cutap_environment(const char *name) { return cutap->environment(name); }

/* Number of a parameter by its name as NVIDIA's headers have it, or CUTAP_ERR_NO_PARAM: ask this to find out whether a function has it. */
CUTAP_INLINE int cutap_index(const struct cutap_call *call, const char *parameter) {
    return cutap->index(call->function, parameter);
}

/* Arguments by number. One that is not there is 0. */
CUTAP_INLINE uint64_t cutap_unsigned_at(const struct cutap_call *call, int index) {
    uint64_t value = 0;
    cutap->read(call, index, &value, sizeof value);
    return value;
}
CUTAP_INLINE int64_t cutap_signed_at(const struct cutap_call *call, int index) {
    int64_t value = (int64_t)cutap_unsigned_at(call, index);
    if (index >= 0 && (uint32_t)index < call->function->parameters) {
        unsigned bits = 8u * call->function->parameter[index].bytes;
        if (bits && bits < 64)
            value = (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
    }
    return value;
}
CUTAP_INLINE void *cutap_pointer_at(const struct cutap_call *call, int index) {
    return (void *)(uintptr_t)cutap_unsigned_at(call, index);
}
CUTAP_INLINE double cutap_float_at(const struct cutap_call *call, int index) {
    uint64_t bits = cutap_unsigned_at(call, index);
    double wide;
    float narrow;
    if (index >= 0 && (uint32_t)index < call->function->parameters && call->function->parameter[index].bytes == 4) {
        memcpy(&narrow, &bits, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

/* The same for a hook that reads the argument: cutap reports a name that the function does not have, once, at the end. */
CUTAP_INLINE int cutap_read_index(const struct cutap_call *call, const char *name) {
    int index = cutap_index(call, name);
    if (index == CUTAP_ERR_NO_PARAM && cutap->size >= offsetof(struct cutap_host, unknown) + sizeof cutap->unknown)
        cutap->unknown(call, name, strlen(name));
    return index;
}
/* Arguments by name. One that is not there is 0, and is reported. */
CUTAP_INLINE uint64_t cutap_unsigned(const struct cutap_call *call, const char *name) {
    return cutap_unsigned_at(call, cutap_read_index(call, name));
}
CUTAP_INLINE int64_t cutap_signed(const struct cutap_call *call, const char *name) {
    return cutap_signed_at(call, cutap_read_index(call, name));
}
CUTAP_INLINE void *cutap_pointer(const struct cutap_call *call, const char *name) {
    return cutap_pointer_at(call, cutap_read_index(call, name));
}
CUTAP_INLINE double cutap_float(const struct cutap_call *call, const char *name) {
    return cutap_float_at(call, cutap_read_index(call, name));
}

/* Changes an integer, a handle or a pointer, in before. */
CUTAP_INLINE int cutap_set_at(struct cutap_call *call, int index, uint64_t value) {
    return cutap->write(call, index, &value, sizeof value);
}
CUTAP_INLINE int cutap_set(struct cutap_call *call, const char *name, uint64_t value) {
    return cutap_set_at(call, cutap_index(call, name), value);
}
/* Changes a float or double, in before. */
CUTAP_INLINE int cutap_set_float_at(struct cutap_call *call, int index, double value) {
    float narrow = (float)value;
    if (index >= 0 && (uint32_t)index < call->function->parameters && call->function->parameter[index].bytes == 4)
        return cutap->write(call, index, &narrow, sizeof narrow);
    return cutap->write(call, index, &value, sizeof value);
}
CUTAP_INLINE int cutap_set_float(struct cutap_call *call, const char *name, double value) {
    return cutap_set_float_at(call, cutap_index(call, name), value);
}
/* Writes an output of the call through the pointer that it was given, in before (of a call that is answered) or in after; the trace tells
 * that this hook wrote it. CUTAP_ERR_NOT_SUPPORTED: the pointer is null, or the argument is surely no output: a pointer to constant memory, what is
 * freed, a handle, code, an address on a device (CUdeviceptr, but for dst of cuMemcpy and cuMemcpyAsync). Whether any other pointer leads to
 * memory of the host is for the hook to know. */
CUTAP_INLINE int cutap_output_at(struct cutap_call *call, int index, const void *from, size_t bytes) {
    if (cutap->size < offsetof(struct cutap_host, output) + sizeof cutap->output)
        return CUTAP_ERR_NOT_SUPPORTED;
    return cutap->output(call, index, from, bytes);
}
CUTAP_INLINE int cutap_output(struct cutap_call *call, const char *name, const void *from, size_t bytes) {
    return cutap_output_at(call, cutap_index(call, name), from, bytes);
}
/* Argument word n as the registers and the stack have it (a runtime's parameter block: its n-th eight bytes). */
CUTAP_INLINE uint64_t cutap_raw_arg(const struct cutap_call *call, int n) {
    uint64_t value = 0;
    cutap->raw_arg(call, n, &value);
    return value;
}

/* In before: the function is not called, and the program gets this. Later hooks of the list are not asked. */
CUTAP_INLINE int cutap_return(struct cutap_call *call, uint64_t result) { return cutap->answer(call, result); }
/* In after: what the program will get. Of a linked-in runtime's functions that return no error code (cudaGetErrorString) it is 0, and
 * cannot be changed. */
CUTAP_INLINE uint64_t cutap_result(const struct cutap_call *call) { return cutap->result(call); }
CUTAP_INLINE int cutap_set_result(struct cutap_call *call, uint64_t result) { return cutap->set_result(call, result); }

/* The few functions that return a float (cublasSdot) or a double (cublasDdot) are answered, and their results read, by these.
 * Such a result cannot be changed in after. cutap_return and cutap_set_result are CUTAP_ERR_NOT_SUPPORTED there, and of functions that return
 * a struct (cudaCreateChannelDesc). */
CUTAP_INLINE int cutap_return_double(struct cutap_call *call, double result) { return cutap->answer_float(call, result); }
CUTAP_INLINE double cutap_result_double(const struct cutap_call *call) { return cutap->result_float(call); }
CUTAP_INLINE int cutap_return_float(struct cutap_call *call, float result) {
    double both = 0; /* the lower half of the register is what the program reads */
    memcpy(&both, &result, sizeof result);
    return cutap->answer_float(call, both);
}
CUTAP_INLINE float cutap_result_float(const struct cutap_call *call) {
    double both = cutap->result_float(call);
    float result;
    memcpy(&result, &both, sizeof result);
    return result;
}

/* A function of a loaded watched library, past all hooks and unrecorded: look it up once and keep it.
 * `library` is a pattern for its SONAME, or NULL. NULL if there is none. */
CUTAP_INLINE void *cutap_original(const char *library, const char *name) { return cutap->original(library, name); }
/* A function of the copy of the runtime that this call belongs to. NULL if its address is not known: a linked-in
 * runtime usually has no symbols. Of a shared runtime its own call is in no trace, as that of an original; of a linked-in one it is
 * shown, inside of the one that you are in. The driver's calls that it makes are shown in both. */
CUTAP_INLINE void *cutap_instance_function(const struct cutap_call *call, const char *name) {
    return cutap->instance_function(call, name);
}
/* Mangled name of the kernel that a launch launches, or NULL if it is not known: of what is no kernel, of a launch that is the first call of
 * a linked-in runtime before 13, and where runtime and driver are both older than 12.3 and it is a shared runtime's launch, before the call.
 * Before a shared runtime's launch that runtime is asked, which starts it if it has not begun. */
CUTAP_INLINE const char *cutap_kernel(const struct cutap_call *call) { return cutap->kernel(call); }

/* Where the call returns to. NULL if that is not known: of a runtime's call that its callback reports. */
CUTAP_INLINE const void *cutap_caller(const struct cutap_call *call) { return cutap->caller(call); }
/* 1 when a driver function is called by a runtime that is starting. It compares what the driver says of versions and devices
 * with a keyed digest of the driver's own: what is changed there makes all its later calls fail with error 103. 0 for what it asks before it
 * asks for its callback table: cuInit, cuDriverGetVersion, cuGetProcAddress, cuGetExportTable, which are to be left as they are. */
CUTAP_INLINE int cutap_starting(const struct cutap_call *call) { return cutap->starting(call); }

#endif /* CUTAP_HOOK_PLAIN */

#ifdef __cplusplus
}
#endif
#endif
