// A program that profiles itself as a subscriber of CUPTI (13.3 or later): cuptiSubscribe_v2, cuptiActivityEnable_v2.
// It does so after the first call of CUDA (`later`), so after cutap, or before it (`first`). CUPTI_LIB is the library.
// Both kinds of profilers in one process are an error of CUPTI, so its answers must not depend on cutap.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>
#include <dlfcn.h>

constexpr uint32_t CONCURRENT_KERNEL = 10, FORCED = 1;

struct SubscriberParameters
{
    size_t size;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t allows_several;
    uint8_t padding[7];
};

static struct
{
    int (*subscribe)(void **, void (*)(void *, uint32_t, uint32_t, const void *), void *, SubscriberParameters *);
    int (*unsubscribe)(void *);
    int (*register_callbacks)(void *, void (*)(uint8_t **, size_t *, size_t *, void *),
                              void (*)(uint8_t *, size_t, size_t, void *));
    int (*enable)(void *, uint32_t, void *);
    int (*disable)(void *, uint32_t, void *);
    int (*next)(void *, uint8_t *, size_t, uint8_t **);
    int (*flush)(uint32_t);
} cupti;

static void *subscriber;
static std::atomic<int> kernels, of_others;

__global__ void profiled() {}

static void load()
{
    const char *path = getenv("CUPTI_LIB");
    void *library = path && *path ? dlopen(path, RTLD_NOW) : nullptr;
    if (!library) {
        printf("skip: no libcupti\n");
        exit(0);
    }
    const struct
    {
        const char *name;
        void *place;
    } functions[] = {
        {"cuptiSubscribe_v2", &cupti.subscribe},
        {"cuptiUnsubscribe", &cupti.unsubscribe},
        {"cuptiActivityRegisterCallbacks_v2", &cupti.register_callbacks},
        {"cuptiActivityEnable_v2", &cupti.enable},
        {"cuptiActivityDisable_v2", &cupti.disable},
        {"cuptiActivityGetNextRecord_v2", &cupti.next},
        {"cuptiActivityFlushAll", &cupti.flush},
    };
    for (const auto &of : functions) {
        void *function = dlsym(library, of.name);
        if (!function) {
            printf("skip: libcupti has no %s\n", of.name);
            exit(0);
        }
        memcpy(of.place, &function, sizeof function);
    }
}

static void ignore(void *, uint32_t, uint32_t, const void *) {}

static void take(uint8_t **buffer, size_t *size, size_t *records, void *)
{
    *size = 1 << 20;
    *buffer = static_cast<uint8_t *>(aligned_alloc(64, *size));
    *records = 0;
}

static void give(uint8_t *buffer, size_t, size_t valid, void *)
{
    uint8_t *record = nullptr;
    while (valid && cupti.next(subscriber, buffer, valid, &record) == 0) {
        uint32_t kind;
        memcpy(&kind, record, sizeof kind);
        (kind == CONCURRENT_KERNEL ? kernels : of_others)++;
    }
    free(buffer);
}

static void start_profile()
{
    load();
    char old[128] = "";
    SubscriberParameters parameters = {};
    parameters.size = sizeof parameters - sizeof parameters.padding;
    parameters.name = "gpu_time_subscriber";
    parameters.old_name = old;
    parameters.old_size = sizeof old;
    printf("subscribe %d", cupti.subscribe(&subscriber, ignore, nullptr, &parameters));
    printf(" register %d", cupti.register_callbacks(subscriber, take, give));
    printf(" enable %d\n", cupti.enable(subscriber, CONCURRENT_KERNEL, nullptr));
}

static void launch(int count)
{
    for (int n = 0; n < count; n++)
        profiled<<<1, 1>>>();
    printf("%d launches: %s\n", count, cudaGetErrorName(cudaDeviceSynchronize()));
}

int main(int, char **arguments)
{
    const bool is_first = strcmp(arguments[1], "first") == 0;
    if (is_first)
        start_profile();
    printf("first call: %s\n", cudaGetErrorName(cudaFree(nullptr)));
    launch(100);
    if (!is_first)
        start_profile();
    launch(1000);
    printf("flush %d", cupti.flush(FORCED));
    printf(" disable %d", cupti.disable(subscriber, CONCURRENT_KERNEL, nullptr));
    printf(" unsubscribe %d\n", cupti.unsubscribe(subscriber));
    launch(500);
    printf("kernels %d, other records %d\n", kernels.load(), of_others.load());
    return 0;
}
