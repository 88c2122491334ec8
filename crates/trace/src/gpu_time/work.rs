//! What the GPU did: for a call, and piece by piece.

use cutap_wire::rows::Row;
use std::sync::Arc;

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

/// A kernel, copy or set, with its call.
#[derive(Debug, Clone)]
pub struct WorkRow {
    /// As CUPTI reported it.
    pub row: Row,
    /// The demangled name of the kernel.
    pub kernel: Option<Arc<str>>,
    /// The thread and the number of the call that submitted it, if that is known for certain.
    pub call: Option<(u32, u32)>,
    /// Beginning, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// End, CLOCK_MONOTONIC.
    pub end_ns: u64,
}
