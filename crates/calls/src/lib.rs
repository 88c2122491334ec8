//! Tables of all functions, types and capture plans, and the functions that look things up in them.
//!
//! The tables under `generated` come from `api/`; no fact about an interface is written by hand here.
//! The crate also runs inside the target: no std, no allocation and no code that can panic, so no indexing.
#![no_std]

mod behaviour;
pub mod capture;
pub mod filter;
pub mod generated;
mod glob;
pub mod gpu_clocks;
pub mod gpu_time;
pub mod hidden;
pub mod kernel;
pub mod known;
mod layer;
mod lookup;
pub mod nvtx;
pub mod python;
mod role;
mod role_set;
mod status;

pub use behaviour::{
    begins_capture, blocks, ends_capture, hands_out, is_chatter, keeps_state, plain, resets, tells_of_memory,
};
pub use generated::behaviour::status::{FAULTS, INVALID_DEVICE_FUNCTION, INVALID_HANDLE, NOT_READY};
pub use generated::behaviour::{LAUNCH_CALLBACK, LOOKS_FOR_KERNEL_NAME};
pub use generated::export_tables::*;
pub use generated::functions::FUNCTIONS;
pub use generated::watched::{FAMILIES, LISTED, PARTS, PROFILERS, STEMS, WATCHED};
pub use glob::glob;
pub use layer::{Layer, LayerRow};
pub use lookup::{
    in_family, is_only_listed, is_part, is_profiler, is_soname, layer_of, listed, needs_driver, soname_of,
};
pub use role::{Role, argument, function_with, has_role, patterns_of, roles};
pub use role_set::RoleSet;
pub use status::{LayerNames, is_answer, is_named_as, is_of_cuda, undeclared_status};

/// A library whose functions are traced.
#[derive(Debug)]
pub struct Watched {
    /// DT_SONAME, where `*` matches any characters.
    pub soname: &'static str,
    /// The layer of its functions.
    pub layer: Layer,
    /// Its functions work on a machine without a driver.
    pub without_driver: bool,
    /// Only functions of [`LISTED`] are traced.
    pub only_listed: bool,
}
