//! What is drawn over time: one box for a call, a range, or work of the GPU.

use cutap_report::CallDetail;
use std::sync::Arc;

/// A box.
#[derive(Debug, Clone)]
pub struct TimeBox {
    pub lane: u32,
    /// How many boxes it is inside.
    pub depth: u16,
    /// Nanoseconds since the start of the run.
    pub start_ns: u64,
    pub took_ns: u64,
    pub name: u32,
    /// See [`flag`].
    pub flags: u8,
    /// The texts of a call.
    pub detail: Option<Arc<CallDetail>>,
    /// The kernel that a call launches.
    pub kernel: Option<Arc<str>>,
    /// Where an arrow to it begins. Of a call, this is its own place.
    pub caller: Option<CallerPlace>,
}

/// The key of a process, the id of a thread, and the beginning of a call, CLOCK_MONOTONIC.
pub type CallerPlace = (u32, u32, u64);

/// Bits of [`TimeBox::flags`].
pub mod flag {
    /// The call failed.
    pub const ERROR: u8 = 1;
    /// The call waits.
    pub const WAIT: u8 = 2;
    /// The call never returned.
    pub const OPEN: u8 = 4;
    /// Work of the GPU.
    pub const GPU: u8 = 8;
    /// A range of NVTX.
    pub const RANGE: u8 = 16;
}

/// Waits that are longer are kept like failures.
const LONG_WAIT_NS: u64 = 1_000_000;

impl TimeBox {
    /// Those with more stay when not all can: failures, what never returned and long waits first, then by time.
    pub fn importance(&self) -> u64 {
        importance(self.flags, self.took_ns)
    }
}

/// The importance of a box with these flags.
pub fn importance(flags: u8, took_ns: u64) -> u64 {
    let is_long_wait = flags & flag::WAIT != 0 && took_ns > LONG_WAIT_NS;
    if flags & (flag::ERROR | flag::OPEN) != 0 || is_long_wait { u64::MAX } else { took_ns }
}
