//! Time in ticks: the time stamp counter where it is constant, else CLOCK_MONOTONIC nanoseconds. The
//! meaning of a tick is made outside, from the pairs in the `process` page and in each chunk's head.

use crate::sys::{self, x86_64};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cutap_wire::process::{CLOCK_MONOTONIC, CLOCK_TSC};

/// How often both clocks are read for a pair: a microsecond, for each process and each chunk.
const TRIES: usize = 4;

static KIND: AtomicU32 = AtomicU32::new(CLOCK_MONOTONIC);

/// Chooses the clock; its kind and its ticks a second if the processor states them.
pub fn choose() -> (u32, u64) {
    let (constant, hz) = x86_64::constant_timestamp();
    if constant {
        KIND.store(CLOCK_TSC, Relaxed);
        (CLOCK_TSC, hz)
    } else {
        (CLOCK_MONOTONIC, 1_000_000_000)
    }
}

/// True where a tick is one of the time stamp counter.
pub fn is_timestamp() -> bool {
    KIND.load(Relaxed) == CLOCK_TSC
}

/// Now.
#[inline(always)]
pub fn ticks() -> u64 {
    if KIND.load(Relaxed) == CLOCK_TSC { x86_64::timestamp() } else { sys::clock(sys::MONOTONIC) }
}

/// Now on both clocks. A thread that is put aside between the two readings would pair moments far apart, and all times
/// of the run hang on these pairs: the narrowest of a few is taken. All tries are made, for the first of a process is
/// much wider than those behind it, with code and data that no cache holds, and its middle is off by as much.
pub fn pair() -> (u64, u64) {
    let mut best = (0, 0, u64::MAX);
    for _ in 0..TRIES {
        let before = ticks();
        let monotonic = sys::clock(sys::MONOTONIC);
        let width = ticks().wrapping_sub(before);
        if width < best.2 {
            best = (before.wrapping_add(width / 2), monotonic, width);
        }
    }
    (best.0, best.1)
}
