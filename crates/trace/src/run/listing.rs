//! How often the directory of a run is listed.

use std::time::Instant;

/// The longest time between two lists, in nanoseconds.
pub const LONGEST_NS: u64 = 100_000_000;

/// When the folder of a run is listed: the longer that takes, the rarer.
#[derive(Debug, Default)]
pub struct Listing {
    next: u64,
}

impl Listing {
    /// It is time, at `now` of `CLOCK_MONOTONIC`.
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.next
    }

    pub fn time<T>(&mut self, now: u64, list: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let listed = list();
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.next = now.saturating_add(took.saturating_add(took.saturating_mul(8).min(LONGEST_NS)));
        listed
    }
}
