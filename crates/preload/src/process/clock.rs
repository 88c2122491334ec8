//! Time in ticks: the time stamp counter where it is constant, else CLOCK_MONOTONIC nanoseconds. The
//! meaning of a tick is made outside, from the pairs in the `process` page and in each chunk's head.

use crate::sys::{self, allowed, arch, kept};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use cutap_wire::process::{CLOCK_MONOTONIC, CLOCK_TSC};

/// How often both clocks are read for a pair: a microsecond, for each process and each chunk.
const TRIES: usize = 4;

/// In `KIND`: see `stop`.
const STOPPED: u32 = u32::MAX;
/// The last moment.
static LAST: AtomicU64 = AtomicU64::new(0);

static KIND: AtomicU32 = AtomicU32::new(CLOCK_MONOTONIC);

/// Chooses the clock; its kind and its ticks a second if the processor states them.
pub fn choose() -> (u32, u64) {
    let (constant, hz) = arch::constant_timestamp();
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
    match KIND.load(Relaxed) {
        CLOCK_TSC => arch::timestamp(),
        STOPPED => LAST.load(Relaxed),
        _ => sys::clock(sys::MONOTONIC),
    }
}

/// The last moment at which the time stamp counter is surely allowed.
pub fn before_stop() {
    LAST.store(ticks(), Relaxed);
}

/// The program forbids to read the time stamp counter. From now on the time stands still, and nothing is recorded.
pub fn stop() {
    kept::stop_ticks();
    KIND.store(STOPPED, Relaxed);
}

/// Keeps what sandboxed threads know of the clocks: a moment, and the rate since `begun`, a pair of an earlier one.
pub fn keep(begun: (u64, u64)) {
    const ENOUGH_NS: u64 = 2_000_000;
    let mut now = pair();
    for _ in 0..10 {
        if now.1.saturating_sub(begun.1) >= ENOUGH_NS {
            break;
        }
        sys::sleep_us(ENOUGH_NS / 1000);
        now = pair();
    }
    let (ticks, ns) = (now.0.saturating_sub(begun.0), now.1.saturating_sub(begun.1));
    let rate = (u128::from(ns) << 32).checked_div(ticks.into()).unwrap_or(1 << 32);
    kept::keep_clock(now, sys::clock(sys::REALTIME), rate as u64);
}

/// Now on both clocks. A thread that is put aside between the two readings would pair moments far apart, and all times
/// of the run hang on these pairs: the narrowest of a few is taken. All tries are made, for the first of a process is
/// much wider than those behind it, with code and data that no cache holds, and its middle is off by as much.
pub fn pair() -> (u64, u64) {
    // A pair of an earlier moment says as much of the rate as one of this moment.
    if !allowed::may_read_clocks() {
        return kept::pair();
    }
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
