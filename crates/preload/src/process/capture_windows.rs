//! When captures of graphs were open in this process. A flight recorder keeps the calls of these times, for a replay of
//! the graph depends on them. It asks long after the capture, when it needs the room of the calls. Of many windows only
//! the last ones are known.

use super::clock;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Windows that are known.
const MOST: usize = 1024;
/// The end of one that is open.
const OPEN: u64 = u64::MAX;

/// Beginning and end, in ticks. The oldest one is written over.
static WINDOWS: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];
/// Windows so far.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Captures that are open.
static CAPTURES: AtomicU32 = AtomicU32::new(0);

/// A capture has begun.
pub fn begin() {
    if CAPTURES.fetch_add(1, AcqRel) != 0 {
        return;
    }
    let number = COUNT.load(Acquire);
    let [begin, end] = window(number);
    begin.store(clock::ticks(), Relaxed);
    end.store(OPEN, Relaxed);
    COUNT.store(number.wrapping_add(1), Release);
}

/// A capture has ended, or could not be ended.
pub fn end() {
    let newest = COUNT.load(Acquire).wrapping_sub(1);
    if CAPTURES.fetch_update(AcqRel, Acquire, |captures| captures.checked_sub(1)) == Ok(1) {
        let [_, end] = window(newest);
        end.store(clock::ticks(), Relaxed);
    }
}

/// The captures of a parent are none of its forked child.
pub fn forked() {
    COUNT.store(0, Relaxed);
    CAPTURES.store(0, Relaxed);
}

fn window(number: u32) -> &'static [AtomicU64; 2] {
    static NONE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    WINDOWS.get(number as usize % MOST).unwrap_or(&NONE)
}

/// The windows, for one look at times that grow.
pub struct Windows {
    next: u32,
    end: u32,
}

impl Windows {
    /// All that are known.
    pub fn all_known() -> Windows {
        let end = COUNT.load(Acquire);
        Windows { next: end - end.min(MOST as u32), end }
    }

    /// Whether a moment lies in one of them. Later ones are asked for later.
    pub fn contains(&mut self, ticks: u64) -> bool {
        while self.next < self.end {
            let [begin, end] = window(self.next);
            if ticks <= end.load(Relaxed) {
                return ticks >= begin.load(Relaxed);
            }
            self.next += 1;
        }
        false
    }
}
