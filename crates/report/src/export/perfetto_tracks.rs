//! Numbers of Perfetto's tracks and flows. Kinds of tracks differ in the upper half.

use cutap_trace::{Process, Thread};
use std::hash::{DefaultHasher, Hash, Hasher};

pub fn process_track(process: &Process) -> u64 {
    1 << 32 | u64::from(process.key)
}

pub fn thread_track(thread: &Thread) -> u64 {
    2 << 32 | u64::from(thread.key)
}

pub fn gpu_track(number: u32) -> u64 {
    3 << 32 | u64::from(number)
}

pub fn range_track(number: u32) -> u64 {
    4 << 32 | u64::from(number)
}

pub fn clock_track(number: u32) -> u64 {
    5 << 32 | u64::from(number)
}

pub fn memory_track(number: u32) -> u64 {
    6 << 32 | u64::from(number)
}

/// The flow from a call to the work that it submits: a number that both sides know without keeping it. Other flows
/// have small numbers.
pub fn flow_to_work(process: &Process, tid: u32, start_ns: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (process.key, tid, start_ns).hash(&mut hasher);
    hasher.finish() | 1 << 63
}
