//! A row of GPU time as an event, and what the GPU did for a call.

use super::process::Process;
use cutap_wire::rows::Row;
use std::sync::Arc;

/// A row, and the process that it is of.
#[derive(Debug, Clone)]
pub struct GpuRow {
    /// The process whose work it is.
    pub process: Arc<Process>,
    /// CLOCK_MONOTONIC nanoseconds at which it was delivered, which may be much later than it happened.
    pub ns: u64,
    /// What was reported, in nanoseconds of CUPTI's clock.
    pub row: Row,
    /// The demangled name of the kernel.
    pub kernel: Option<Arc<str>>,
    /// Beginning and end, CLOCK_MONOTONIC, once the readings of the clock are known.
    pub times: Option<(u64, u64)>,
    /// The thread and the beginning of the call that submitted it, if that is known for certain.
    pub submitted_by: Option<(u32, u64)>,
}

/// What the GPU did for a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GpuWork {
    /// Nanoseconds of its kernels, copies and sets, added up.
    pub ns: u64,
    /// From the beginning of the call to that of the first of them.
    pub wait_ns: u64,
    /// Kernels, copies and sets.
    pub rows: u64,
}
