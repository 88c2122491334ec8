//! `process`: one page that says who a process is, how its clock relates to the world's, and what it
//! counted. Written once at the first traced event, counters until the last moment.

use crate::diagnostic::COUNTERS;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file in the process folder.
pub const FILE: &str = "process";
/// Times are nanoseconds of CLOCK_MONOTONIC.
pub const CLOCK_MONOTONIC: u32 = 0;
/// Times are ticks of the processor's constant time stamp counter.
pub const CLOCK_TSC: u32 = 1;

/// The page. Strings are cut off, not refused, and end at the first zero.
#[repr(C)]
pub struct Process {
    /// [`crate::MAGIC`], stored last: a page without it is not finished.
    pub magic: AtomicU64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Process id as the process itself sees it.
    pub pid: u32,
    /// Parent's process id as the process itself sees it.
    pub ppid: u32,
    /// `CLOCK_MONOTONIC` or `CLOCK_TSC` of this module.
    pub clock: u32,
    /// Ticks a second as the processor states them, 0 if it does not.
    pub ticks_per_second: u64,
    /// The same moment on three clocks: ticks, CLOCK_MONOTONIC, CLOCK_REALTIME.
    pub start_ticks: u64,
    /// See `start_ticks`; nanoseconds.
    pub start_monotonic: u64,
    /// See `start_ticks`; nanoseconds since 1970.
    pub start_realtime: u64,
    /// Ring files made so far: `t0.ring` to `t<rings-1>.ring`.
    pub rings: AtomicU32,
    /// 1 when this is a forked child that never called exec.
    pub forked: u32,
    /// Counters of [`crate::diagnostic`].
    pub counters: [AtomicU64; COUNTERS],
    /// Path of the program.
    pub exe: [u8; 512],
    /// Command line, arguments separated by zero bytes, two zeros at the end.
    pub cmdline: [u8; 1024],
    /// Ring files that were finished: a thread may be killed between taking a number of `rings` and making that file.
    pub finished: AtomicU32,
    /// 1 when the driver (libcuda) was loaded by this process. A forked child whose parent had it loaded says 0.
    pub driver: AtomicU32,
    /// Folder name of the process that forked this one, empty if none.
    pub parent: [u8; 64],
    /// CLOCK_MONOTONIC nanoseconds at which the collector found that it had ended. Only in a recording; 0: not known.
    pub end_ns: u64,
}

const _: () = assert!(size_of::<Process>() <= crate::PAGE);
