// Ranges of nvtx3.hpp: of a function, of a block in a domain with a category and a payload, and a mark.
#include <dlfcn.h>
#include <nvtx3/nvtx3.hpp>

struct solver {
    static constexpr const char *name{"solver"};
};

struct fast {
    static constexpr const char *name{"fast"};
    static constexpr uint32_t id{5};
};

static int (*count_devices)(int *);

static void work() {
    NVTX3_FUNC_RANGE();
    {
        nvtx3::scoped_range_in<solver> iteration{"iteration", nvtx3::payload{uint64_t{7}},
                                                 nvtx3::named_category_in<solver>::get<fast>()};
        int count;
        count_devices(&count);
    }
    nvtx3::mark_in<solver>("converged");
}

int main() {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    auto start = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    count_devices = reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDeviceGetCount"));
    start(0);
    work();
}
