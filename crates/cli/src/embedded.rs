//! The files that travel inside `cutap`. `build.rs` builds the libraries.

use cutap_collect::Embedded;

/// The libraries that are loaded into programs.
pub const LIBRARIES: Embedded = Embedded {
    name: env!("CUTAP_INSIDE"),
    preload: include_bytes!(env!("CUTAP_PRELOAD")),
    sim: include_bytes!(env!("CUTAP_SIM")),
    nvml: include_bytes!(env!("CUTAP_NVML")),
    gpu_time: include_bytes!(env!("CUTAP_GPU_TIME")),
    inject: include_bytes!(env!("CUTAP_INJECT")),
    limit: include_bytes!(env!("CUTAP_LIMIT")),
    cupti: include_bytes!(env!("CUTAP_SIM_CUPTI_LIBRARY")),
};

/// The header with which a hook library is written in C.
pub const HOOK_HEADER: &str = include_str!("../../hook/include/cutap_hook.h");
