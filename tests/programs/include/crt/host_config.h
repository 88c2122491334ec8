// cuda_runtime.h of the wheels asks nvcc's crt/host_config.h, which those wheels leave out, whether the
// host compiler is one that nvcc knows. Without nvcc there is nothing to ask. Ours.
#ifndef CUTAP_HOST_CONFIG_H
#define CUTAP_HOST_CONFIG_H
#include <crt/host_defines.h>
#endif
