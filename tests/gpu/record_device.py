#!/usr/bin/env python3
"""Records what a real GPU answers to queries, as TOML on stdout: data for the simulated driver.

    python3 tests/gpu/record_device.py [--device N] [--real-uuid] > api/devices/NAME.toml

It asks only; the one thing it makes is the device's primary context, for limits and
priorities. The output has the form of api/devices/h200.toml and can replace it; what
that form has no place for follows as comments. An answer that is an error is written as
a comment with its code, so that a missing line never means "forgotten".
"""

import argparse
import ctypes
import sys

ATTRIBUTES = """
MAX_THREADS_PER_BLOCK MAX_BLOCK_DIM_X MAX_BLOCK_DIM_Y MAX_BLOCK_DIM_Z MAX_GRID_DIM_X
MAX_GRID_DIM_Y MAX_GRID_DIM_Z MAX_SHARED_MEMORY_PER_BLOCK TOTAL_CONSTANT_MEMORY WARP_SIZE
MAX_PITCH MAX_REGISTERS_PER_BLOCK CLOCK_RATE TEXTURE_ALIGNMENT GPU_OVERLAP MULTIPROCESSOR_COUNT
KERNEL_EXEC_TIMEOUT INTEGRATED CAN_MAP_HOST_MEMORY COMPUTE_MODE MAXIMUM_TEXTURE1D_WIDTH
MAXIMUM_TEXTURE2D_WIDTH MAXIMUM_TEXTURE2D_HEIGHT MAXIMUM_TEXTURE3D_WIDTH
MAXIMUM_TEXTURE3D_HEIGHT MAXIMUM_TEXTURE3D_DEPTH MAXIMUM_TEXTURE2D_LAYERED_WIDTH
MAXIMUM_TEXTURE2D_LAYERED_HEIGHT MAXIMUM_TEXTURE2D_LAYERED_LAYERS SURFACE_ALIGNMENT
CONCURRENT_KERNELS ECC_ENABLED PCI_BUS_ID PCI_DEVICE_ID TCC_DRIVER MEMORY_CLOCK_RATE
GLOBAL_MEMORY_BUS_WIDTH L2_CACHE_SIZE MAX_THREADS_PER_MULTIPROCESSOR ASYNC_ENGINE_COUNT
UNIFIED_ADDRESSING MAXIMUM_TEXTURE1D_LAYERED_WIDTH MAXIMUM_TEXTURE1D_LAYERED_LAYERS
CAN_TEX2D_GATHER MAXIMUM_TEXTURE2D_GATHER_WIDTH MAXIMUM_TEXTURE2D_GATHER_HEIGHT
MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE
MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE PCI_DOMAIN_ID TEXTURE_PITCH_ALIGNMENT
MAXIMUM_TEXTURECUBEMAP_WIDTH MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS MAXIMUM_SURFACE1D_WIDTH MAXIMUM_SURFACE2D_WIDTH
MAXIMUM_SURFACE2D_HEIGHT MAXIMUM_SURFACE3D_WIDTH MAXIMUM_SURFACE3D_HEIGHT
MAXIMUM_SURFACE3D_DEPTH MAXIMUM_SURFACE1D_LAYERED_WIDTH MAXIMUM_SURFACE1D_LAYERED_LAYERS
MAXIMUM_SURFACE2D_LAYERED_WIDTH MAXIMUM_SURFACE2D_LAYERED_HEIGHT
MAXIMUM_SURFACE2D_LAYERED_LAYERS MAXIMUM_SURFACECUBEMAP_WIDTH
MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS
MAXIMUM_TEXTURE1D_LINEAR_WIDTH MAXIMUM_TEXTURE2D_LINEAR_WIDTH MAXIMUM_TEXTURE2D_LINEAR_HEIGHT
MAXIMUM_TEXTURE2D_LINEAR_PITCH MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT COMPUTE_CAPABILITY_MAJOR COMPUTE_CAPABILITY_MINOR
MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH STREAM_PRIORITIES_SUPPORTED GLOBAL_L1_CACHE_SUPPORTED
LOCAL_L1_CACHE_SUPPORTED MAX_SHARED_MEMORY_PER_MULTIPROCESSOR MAX_REGISTERS_PER_MULTIPROCESSOR
MANAGED_MEMORY MULTI_GPU_BOARD MULTI_GPU_BOARD_GROUP_ID HOST_NATIVE_ATOMIC_SUPPORTED
SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO PAGEABLE_MEMORY_ACCESS CONCURRENT_MANAGED_ACCESS
COMPUTE_PREEMPTION_SUPPORTED CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM CAN_USE_STREAM_MEM_OPS_V1
CAN_USE_64_BIT_STREAM_MEM_OPS_V1 CAN_USE_STREAM_WAIT_VALUE_NOR_V1 COOPERATIVE_LAUNCH
COOPERATIVE_MULTI_DEVICE_LAUNCH MAX_SHARED_MEMORY_PER_BLOCK_OPTIN CAN_FLUSH_REMOTE_WRITES
HOST_REGISTER_SUPPORTED PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
DIRECT_MANAGED_MEM_ACCESS_FROM_HOST VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED HANDLE_TYPE_WIN32_HANDLE_SUPPORTED
HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED MAX_BLOCKS_PER_MULTIPROCESSOR
GENERIC_COMPRESSION_SUPPORTED MAX_PERSISTING_L2_CACHE_SIZE MAX_ACCESS_POLICY_WINDOW_SIZE
GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED RESERVED_SHARED_MEMORY_PER_BLOCK
SPARSE_CUDA_ARRAY_SUPPORTED READ_ONLY_HOST_REGISTER_SUPPORTED
TIMELINE_SEMAPHORE_INTEROP_SUPPORTED MEMORY_POOLS_SUPPORTED GPU_DIRECT_RDMA_SUPPORTED
GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS GPU_DIRECT_RDMA_WRITES_ORDERING
MEMPOOL_SUPPORTED_HANDLE_TYPES CLUSTER_LAUNCH DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED
CAN_USE_64_BIT_STREAM_MEM_OPS CAN_USE_STREAM_WAIT_VALUE_NOR DMA_BUF_SUPPORTED
IPC_EVENT_SUPPORTED MEM_SYNC_DOMAIN_COUNT TENSOR_MAP_ACCESS_SUPPORTED
HANDLE_TYPE_FABRIC_SUPPORTED UNIFIED_FUNCTION_POINTERS NUMA_CONFIG NUMA_ID MULTICAST_SUPPORTED
MPS_ENABLED HOST_NUMA_ID D3D12_CIG_SUPPORTED MEM_DECOMPRESS_ALGORITHM_MASK
MEM_DECOMPRESS_MAXIMUM_LENGTH VULKAN_CIG_SUPPORTED GPU_PCI_DEVICE_ID GPU_PCI_SUBSYSTEM_ID
HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED HOST_NUMA_MEMORY_POOLS_SUPPORTED
HOST_NUMA_MULTINODE_IPC_SUPPORTED HOST_MEMORY_POOLS_SUPPORTED
HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED HOST_ALLOC_DMA_BUF_SUPPORTED
ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED ATOMIC_REDUCTION_SUPPORTED LOCALITY_DOMAIN_COUNT
MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK D3D12_CIG_STREAMS_SUPPORTED DMA_BUF_MMAP_SUPPORTED
LOGICAL_ENDPOINT_UNICAST_SUPPORTED LOGICAL_ENDPOINT_MULTICAST_SUPPORTED
LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED
LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES
VULKAN_CIG_STREAMS_SUPPORTED TENSOR_MAP_LARGE_TENSOR_MIN_SIZE
GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED
""".split()
LIMITS = """STACK_SIZE PRINTF_FIFO_SIZE MALLOC_HEAP_SIZE DEV_RUNTIME_SYNC_DEPTH
DEV_RUNTIME_PENDING_LAUNCH_COUNT MAX_L2_FETCH_GRANULARITY PERSISTING_L2_CACHE_SIZE
SHMEM_SIZE CIG_ENABLED CIG_SHMEM_FALLBACK_ENABLED""".split()
LAST_ATTRIBUTE, LAST_LIMIT = 175, 12
OWN_UUID = "b1a5c0de-c07a-5eed-9000-000000000000"


class Driver:
    """libcuda; each query gives (value, 0) or (None, error code)."""

    def __init__(self):
        try:
            self.lib = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            sys.exit(f"record_device.py: no NVIDIA driver library here ({error}); run it on a machine with a GPU")
        code = self.lib.cuInit(0)
        if code != 0:
            sys.exit(f"record_device.py: cuInit answers {code} ({self.name(code)}); run it on a machine with a GPU")

    def name(self, code):
        text = ctypes.c_char_p()
        self.lib.cuGetErrorName(code, ctypes.byref(text))
        return (text.value or b"?").decode()

    def ask(self, function, kind, *arguments, first=True):
        """function(&value, arguments...), or (arguments..., &value) with first=False."""
        value = kind()
        if not hasattr(self.lib, function):
            return None, "not exported"
        given = (ctypes.byref(value), *arguments) if first else (*arguments, ctypes.byref(value))
        code = getattr(self.lib, function)(*given)
        return (getattr(value, "value", value), 0) if code == 0 else (None, code)


def note(key, answer, comment=""):
    """One line of what the file's form has no place for: a comment, in `key = value` form."""
    value, code = answer
    what = f"error {code}" if code else value
    print(f"#   {key} = {what}" + (f"  ({comment})" if comment else ""))


def value_of(answer, what):
    value, code = answer
    if code:
        sys.exit(f"record_device.py: {what} answers error {code}; nothing can be recorded without it")
    return value


def text_answer(driver, function, device):
    buffer = ctypes.create_string_buffer(256)
    code = getattr(driver.lib, function)(buffer, 256, device)
    return (None, code) if code else (buffer.value.decode(), 0)


def real_uuid(driver, device):
    raw = bytes(value_of(driver.ask("cuDeviceGetUuid_v2", ctypes.c_ubyte * 16, device), "cuDeviceGetUuid_v2")).hex()
    return "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))


def kernel_driver():
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as f:
            return f.readline().strip()
    except OSError:
        return "unknown, no /proc/driver/nvidia/version"


def write_device(driver, device, with_uuid):
    print("recorded = true")
    print(f'name = "{value_of(text_answer(driver, "cuDeviceGetName", device), "cuDeviceGetName")}"')
    if with_uuid:
        print(f'uuid = "{real_uuid(driver, device)}"')
    else:
        print(f'uuid = "{OWN_UUID}" # ours: it belongs to no real board')
    print(f"total_memory = {value_of(driver.ask('cuDeviceTotalMem_v2', ctypes.c_size_t, device), 'cuDeviceTotalMem_v2')} # bytes\n")
    print("attributes = [")
    for number in range(1, LAST_ATTRIBUTE + 1):
        known = ATTRIBUTES[number - 1] if number <= len(ATTRIBUTES) else "UNKNOWN"
        value, code = driver.ask("cuDeviceGetAttribute", ctypes.c_int, number, device)
        if code:
            print(f"  # {number} {known}: error {code}")
        else:
            print(f'  {{ id = {number}, name = "{known}", value = {value} }},')
    print("]\n")


def note_device(driver, device):
    number, flags = ctypes.c_int, ctypes.c_uint
    note("kernel driver", (kernel_driver(), 0))
    note("cuDriverGetVersion", driver.ask("cuDriverGetVersion", number))
    note("cuDeviceGetCount", driver.ask("cuDeviceGetCount", number))
    note("cuDeviceGetPCIBusId", text_answer(driver, "cuDeviceGetPCIBusId", device))
    note("cuModuleGetLoadingMode", driver.ask("cuModuleGetLoadingMode", number), "1 eager, 2 lazy")
    for affinity in range(2):
        answer = driver.ask("cuDeviceGetExecAffinitySupport", number, affinity, device)
        note(f"cuDeviceGetExecAffinitySupport {affinity}", answer)
    luid, mask = ctypes.create_string_buffer(8), flags()
    note("cuDeviceGetLuid", (luid.raw.hex(), driver.lib.cuDeviceGetLuid(luid, ctypes.byref(mask), device)))


def note_pool(driver, device):
    pool, code = driver.ask("cuDeviceGetDefaultMemPool", ctypes.c_void_p, device)
    note("cuDeviceGetDefaultMemPool", ("a pool", code))
    for attribute in range(1, 0 if code else 13):
        answer = driver.ask("cuMemPoolGetAttribute", ctypes.c_uint64, ctypes.c_void_p(pool), attribute, first=False)
        note(f"cuMemPoolGetAttribute {attribute}", answer)


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp: pinned memory on one device, nothing else asked for."""

    _fields_ = [
        ("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location_type", ctypes.c_int),
        ("location_id", ctypes.c_int), ("win32", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8),
    ]


def note_granularity(driver, device):
    wanted = AllocationProperties(1, 0, 1, device)
    for option, name in enumerate(("minimum", "recommended")):
        answer = driver.ask("cuMemGetAllocationGranularity", ctypes.c_size_t, ctypes.byref(wanted), option)
        note(f"cuMemGetAllocationGranularity {name}", answer)


def note_context(driver, device):
    lib, number, size, flags = driver.lib, ctypes.c_int, ctypes.c_size_t, ctypes.c_uint
    state, active = flags(), number()
    lib.cuDevicePrimaryCtxGetState(device, ctypes.byref(state), ctypes.byref(active))
    note("primary context before use", (f"flags {state.value}, active {active.value}", 0))
    context = ctypes.c_void_p()
    code = lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) or lib.cuCtxSetCurrent(context)
    note("cuDevicePrimaryCtxRetain, cuCtxSetCurrent", ("done", code))
    if code:
        return
    note("cuCtxGetApiVersion", driver.ask("cuCtxGetApiVersion", flags, context, first=False))
    note("cuCtxGetFlags", driver.ask("cuCtxGetFlags", flags))
    note("cuCtxGetCacheConfig", driver.ask("cuCtxGetCacheConfig", number))
    note("cuCtxGetSharedMemConfig", driver.ask("cuCtxGetSharedMemConfig", number))
    free, total = size(), size()
    code = lib.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    note("cuMemGetInfo_v2", (f"free {free.value}, total {total.value}", code))
    least, greatest = number(), number()
    code = lib.cuCtxGetStreamPriorityRange(ctypes.byref(least), ctypes.byref(greatest))
    note("cuCtxGetStreamPriorityRange", (f"least {least.value}, greatest {greatest.value}", code))
    for limit in range(LAST_LIMIT + 1):
        known = LIMITS[limit] if limit < len(LIMITS) else "?"
        note(f"cuCtxGetLimit {limit}", driver.ask("cuCtxGetLimit", size, limit), known)
    lib.cuDevicePrimaryCtxRelease_v2(device)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", type=int, default=0, help="which device (default 0)")
    parser.add_argument("--real-uuid", action="store_true", help="write the board's own UUID, which names one board in the world")
    options = parser.parse_args()
    driver = Driver()
    device, code = driver.ask("cuDeviceGet", ctypes.c_int, options.device)
    if code:
        sys.exit(f"record_device.py: there is no device {options.device} (error {code}); try --device 0")
    print("# The GPU that the simulated driver answers for, recorded from a real one by tests/gpu/record_device.py.")
    print("#\n# With several simulated devices the PCI bus number and the last byte of the uuid go up by one each.\n")
    write_device(driver, device, options.real_uuid)
    print("# What else it answered, for whoever writes the simulated behaviour:")
    note_device(driver, device)
    note_granularity(driver, device)
    note_pool(driver, device)
    note_context(driver, device)


if __name__ == "__main__":
    main()
