/* An injection that does one thing: it sets CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT to 8. With few buffers on
 * the device, CUPTI's trouble with long runs of graphs shows early (parcagpu#23). Name it in CUDA_INJECTION64_PATH
 * under cutap. */
#include "gpu_time_cupti.h"

int InitializeInjection(void)
{
    const char *missing = cupti_load();
    size_t limit = 8, size = sizeof limit;
    int code = missing ? -1 : cupti.set_attribute(CUPTI_POOL_LIMIT, &size, &limit);
    fprintf(stderr, "pool limit 8: %s, code %d\n", missing ? missing : "set", code);
    return code == 0;
}
