//! A row of GPU time as an event.

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
}
