//! Numbers that headers name by `#define`, in the real `api/`: each is a name that some value is printed by, or
//! somebody has decided that it is the value of no parameter and of no field.

use super::named::tables;
use crate::interface::functions;
use std::collections::BTreeSet;

/// Those of which no value is printed, with `*`.
const NO_VALUES: &[&str] = &[
    // Versions of headers and of structs; lengths of arrays and texts; limits.
    "*_VERSION",
    "*_VERSION_*",
    "*_VER_*",
    "*_MAJOR",
    "*_MINOR",
    "*_PATCH*",
    "*_SIZE",
    "*_LEN",
    "*_LENGTH",
    "*_BYTES",
    "*_COUNT",
    "*_MAX",
    "*_MIN",
    "*_MAX_*",
    "*_MIN_*",
    "MAX_*",
    "*_PADDING",
    "*_LEN*",
    "*_SIZE_*",
    "CU_TENSOR_MAP_NUM_QWORDS",
    "RESOURCE_ABI_*",
    "*_WIDTH_*",
    "*_SHIFT_*",
    "NVML_NVLINK_BER_*",
    "NVML_255_MASK_*",
    "*_CHUNK",
    "*_DIM_COUNT",
    "*_LRN_*",
    "CU_COMPUTE_*_TARGET_BASE",
    "CUDNN_SM_*",
    "*_IDX",
    "*_NUM",
    "*_NUM_*",
    "*_MAXRES",
    "*_ALIGNMENT",
    "*_MAGIC",
    "*_MAX*",
    // Second names: of an enum's values, or older ones.
    "CU_KERNEL_NODE_ATTRIBUTE_*",
    "CU_STREAM_ATTRIBUTE_*",
    "cudaKernelNodeAttribute*",
    "cudaStreamAttribute*",
    "cudaDeviceBlockingSync",
    "nvmlClocksThrottleReason*",
    "NVML_SINGLE_BIT_ECC",
    "NVML_DOUBLE_BIT_ECC",
    "NVML_TOPOLOGY_CPU",
    "NVJITLINK_ERROR_*",
    "CUFFT_COMPATIBILITY_DEFAULT",
    "FFTW_INVERSE",
    "NVML_GPU_INTSTANCE_*",
    "NVML_MCLK_SWITCH_TYPE_*",
    // Nothing, where the handle is NULL or the set is empty: printed as that.
    "NCCL_COMM_NULL",
    "NCCL_CONFIG_UNDEF_PTR",
    "CUDNN_ATTN_DISABLE_PROJ_BIASES",
    "CUDNN_ATTN_QUERYMAP_ALL_TO_ONE",
    "CU_GRAPH_KERNEL_NODE_PORT_DEFAULT",
    "cudaGraphKernelNodePortDefault",
    "CU_FILE_RDMA_SUCCESS",
    "NVML_CPER_CURSOR_HANDLE_INIT",
    // Keys of a list whose values are shown in their place, and masks to look at values with.
    "CU_LAUNCH_PARAM_*",
    "cudaDevice*Mask",
    "CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM",
    "isEglSupported",
    // Keys and codes of libraries that are given by plain numbers.
    "CU_FILE_RDMA_*",
    "CUFILEOP_BASE_ERR",
    "NVTIFF_*",
    "NVJPEG2K_*",
    "CUDSS_*",
    "NPP_*",
    "NVSHMEM*",
    "*_INVALID",
    "*_DEFAULT",
    "NVML_*_CAP_MIGRATION_*",
    "CHANNEL_*",
    "PROXY_*",
    "TEAM_*",
    "COLL_ENV_*",
    "INIT_ARGS_*",
    "RED_REC_*",
    "STATE_*",
    "*_INITIALIZER",
    "CUDA_EGL_MAX_PLANES",
    "SYNC_SIZE",
    "NVML_VGPU_PGPU_HOMOGENEOUS_MODE",
    "CUFFT_*",
    "FFTW_*",
    // Of device code, and switches of its compilation.
    "NCCL_CFT_BARRIER_*",
    "NCCL_GIN_*_ENABLE",
    // Of structs that no prototype names.
    "NVML_*_PROFILE_CAPS_*",
    "NVML_VGPU_PGPU_HETEROGENEOUS_MODE",
    // Of NVML: bits within a word, what a field (of a telemetry list) may be, and marks of values of all kinds.
    "NVML_GPU_FABRIC_HEALTH_MASK_*",
    "NVML_C2C_POWER_STATE_*",
    "NVML_NVLINK_*",
    "NVML_PCIE_ATOMICS_*",
    "NVML_POWER_SMOOTHING_*",
    "NVML_VALUE_NOT_AVAILABLE",
    "*_ID_ANY",
    "INVALID_*",
    "NVML_INVALID_*",
    "NVML_PERF_*",
    "NVML_DEVICE_MEMORY_LIMIT_MAX",
    "NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_*",
    "NVML_SCHEDULER_*",
    "NVML_WORKLOAD_*",
    "nvmlSystemEventTypeCount",
];

#[test]
fn defines_are_names_of_values() {
    let (tables, _) = tables();
    let of_enums = tables.enums.iter().flat_map(|row| row.values.iter().map(|(_, name)| name.as_str()));
    let of_handles = tables.handles.iter().flat_map(|row| row.special.iter().map(|(_, name)| name.as_str()));
    let printed: BTreeSet<&str> = of_enums.chain(of_handles).collect();
    let mut left = Vec::new();
    let mut all = 0;
    for family in &tables.api.families {
        for name in &family.types.define_names {
            all += 1;
            let decided = NO_VALUES.iter().any(|pattern| functions::matches(pattern, name));
            if !printed.contains(name.as_str()) && !decided {
                left.push(format!("{} {name}", family.name));
            }
        }
    }
    assert!(left.is_empty(), "give them to a parameter or field in the overlay, or list them here: {left:#?}");
    assert!(all > 900, "{all}");
}
