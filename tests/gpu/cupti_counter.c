/* Counts CUDA runtime and driver calls with CUPTI, as an independent witness.
 *
 * run.sh builds this as a shared library and names it in CUDA_INJECTION64_PATH;
 * libcuda then loads it inside the process's first cuInit and calls
 * InitializeInjection. So CUPTI never sees what happened before, nor cuInit
 * itself; compare.py knows that.
 * Output: $CUPTI_COUNTS_DIR/PID.json {"runtime": {name: n}, "driver": {name: n}}
 * and PID.names.json: every name for which CUPTI has a callback id.
 * Names are CUPTI's own with the runtime's trailing version (`_v7000`) dropped;
 * `_ptsz` and `_ptds` (per-thread default stream) are kept, since cutap prints
 * them too, and so is `_v2` of the driver and of cudaGetDeviceProperties_v2.
 * It must never call CUDA and never print: the program's output is compared.
 *
 * The few declarations of CUPTI are written out here, so that no NVIDIA header is
 * needed; they have not changed since CUDA 4. The library is dlopened from $CUPTI_LIB.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DRIVER = 1, RUNTIME = 2, SITE_ENTER = 0, IDS = 4096 };

/* The head of CUpti_CallbackData; what follows is not read. */
struct callback_data {
    uint32_t site;
    const char *function_name;
};

typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);
static int (*cupti_subscribe)(void **, callback_fn, void *);
static int (*cupti_enable_domain)(uint32_t, void *, uint32_t);
static int (*cupti_get_callback_name)(uint32_t, uint32_t, const char **);

static _Atomic uint64_t counts[3][IDS];
static _Atomic uint64_t late_calls;
static atomic_int exiting;
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

/* A name without the runtime's `_vNNNN`; a shorter `_v2` is part of the name. */
static void plain_name(uint32_t domain, uint32_t id, char *out, size_t size)
{
    const char *name = NULL;
    if (cupti_get_callback_name(domain, id, &name) != 0 || name == NULL) {
        snprintf(out, size, "callback_id_%u", id);
        return;
    }
    snprintf(out, size, "%s", name);
    char *v = domain == RUNTIME ? strrchr(out, '_') : NULL;
    if (v == NULL || v[1] != 'v' || strlen(v + 2) < 4)
        return;
    for (const char *p = v + 2; *p; p++)
        if (!isdigit((unsigned char)*p))
            return;
    *v = '\0';
}

/* Opens FINAL.tmp; publish() renames it, so that a reader never sees half a file. */
static FILE *create(const char *file, char *path, size_t size)
{
    const char *dir = getenv("CUPTI_COUNTS_DIR");
    if (dir == NULL)
        return NULL;
    snprintf(path, size, "%s/%s.tmp", dir, file);
    return fopen(path, "w");
}

static void publish(FILE *f, const char *path)
{
    char final[4096];
    snprintf(final, sizeof final, "%.*s", (int)(strlen(path) - 4), path);
    if (fclose(f) == 0)
        rename(path, final);
}

static void write_error(const char *what, const char *detail)
{
    char file[64], path[4096];
    snprintf(file, sizeof file, "%d.json", (int)getpid());
    FILE *f = create(file, path, sizeof path);
    if (f == NULL)
        return;
    fprintf(f, "{\"error\": \"%s: ", what);
    for (; *detail; detail++)
        fputc(*detail == '"' || *detail == '\\' || *detail < ' ' ? '\'' : *detail, f);
    fputs("\"}\n", f);
    publish(f, path);
}

static void write_domain(FILE *f, const char *key, uint32_t domain)
{
    const char *comma = "";
    fprintf(f, "\"%s\": {", key);
    for (uint32_t id = 0; id < IDS; id++) {
        uint64_t n = atomic_load(&counts[domain][id]);
        if (n == 0)
            continue;
        char name[256];
        plain_name(domain, id, name, sizeof name);
        fprintf(f, "%s\"%s\": %llu", comma, name, (unsigned long long)n);
        comma = ", ";
    }
    fputs("}", f);
}

static void write_counts(void)
{
    char file[64], path[4096];
    snprintf(file, sizeof file, "%d.json", (int)getpid());
    pthread_mutex_lock(&write_lock);
    FILE *f = create(file, path, sizeof path);
    if (f != NULL) {
        fputs("{", f);
        write_domain(f, "runtime", RUNTIME);
        fputs(", ", f);
        write_domain(f, "driver", DRIVER);
        fprintf(f, ", \"late\": %llu}\n", (unsigned long long)atomic_load(&late_calls));
        publish(f, path);
    }
    pthread_mutex_unlock(&write_lock);
}

static void write_names(void)
{
    static const char *const keys[] = {"", "driver", "runtime"};
    char file[64], path[4096];
    snprintf(file, sizeof file, "%d.names.json", (int)getpid());
    FILE *f = create(file, path, sizeof path);
    if (f == NULL)
        return;
    for (uint32_t domain = DRIVER; domain <= RUNTIME; domain++) {
        const char *comma = "", *name;
        fprintf(f, "%s\"%s\": [", domain == DRIVER ? "{" : ", ", keys[domain]);
        for (uint32_t id = 1; id < IDS; id++) {
            char text[256];
            if (cupti_get_callback_name(domain, id, &name) != 0 || name == NULL)
                continue;
            plain_name(domain, id, text, sizeof text);
            fprintf(f, "%s\"%s\"", comma, text);
            comma = ", ";
        }
        fputs("]", f);
    }
    fputs("}\n", f);
    publish(f, path);
}

static void on_call(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    if ((domain != DRIVER && domain != RUNTIME) || id >= IDS)
        return;
    if (((const struct callback_data *)data)->site != SITE_ENTER)
        return;
    atomic_fetch_add(&counts[domain][id], 1);
    /* Exit handlers older than ours still call CUDA: keep the file current. */
    if (atomic_load(&exiting)) {
        atomic_fetch_add(&late_calls, 1);
        write_counts();
    }
}

static void at_exit(void)
{
    /* A forked child that never used CUDA inherits this handler, but no counts. */
    for (uint32_t domain = DRIVER; domain <= RUNTIME; domain++)
        for (uint32_t id = 0; id < IDS; id++)
            if (atomic_load(&counts[domain][id]) != 0) {
                atomic_store(&exiting, 1);
                write_counts();
                return;
            }
}

static void in_child(void)
{
    memset(counts, 0, sizeof counts);
    atomic_store(&late_calls, 0);
    pthread_mutex_init(&write_lock, NULL);
}

int InitializeInjection(void)
{
    const char *library = getenv("CUPTI_LIB");
    void *handle = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle == NULL) {
        write_error("cannot load CUPTI", library ? dlerror() : "CUPTI_LIB is not set");
        return 0;
    }
    cupti_subscribe = (int (*)(void **, callback_fn, void *))dlsym(handle, "cuptiSubscribe");
    cupti_enable_domain = (int (*)(uint32_t, void *, uint32_t))dlsym(handle, "cuptiEnableDomain");
    cupti_get_callback_name =
        (int (*)(uint32_t, uint32_t, const char **))dlsym(handle, "cuptiGetCallbackName");
    if (!cupti_subscribe || !cupti_enable_domain || !cupti_get_callback_name) {
        write_error("not a CUPTI library", library);
        return 0;
    }
    void *subscriber = NULL;
    int code = cupti_subscribe(&subscriber, on_call, NULL);
    if (code == 0)
        code = cupti_enable_domain(1, subscriber, DRIVER);
    if (code == 0)
        code = cupti_enable_domain(1, subscriber, RUNTIME);
    if (code != 0) {
        char text[64];
        snprintf(text, sizeof text, "CUptiResult %d", code);
        write_error("CUPTI refused the subscription", text);
        return 0;
    }
    write_names();
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
    return 1;
}
