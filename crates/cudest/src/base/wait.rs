//! How a wait passes the time: it spins, then it yields, then it sleeps for a small part of the time that has passed.

use std::time::{Duration, Instant};

/// Rounds of spinning: about 100 microseconds.
const SPINS: u32 = 2000;
/// After this time it sleeps.
const YIELDS: Duration = Duration::from_millis(2);
/// The part of the time that one sleep may add, and the longest sleep. A fault is noticed after the sleep.
const PART: u32 = 32;
const LONGEST: Duration = Duration::from_micros(500);

/// The state of one wait.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    rounds: u32,
    since: Option<Instant>,
}

impl Backoff {
    /// Whether it has lasted some milliseconds.
    pub fn is_long(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= YIELDS)
    }

    /// Passes some time. Whether it was long, so that the caller should look for faults and time limits.
    #[inline]
    pub fn pause(&mut self) -> bool {
        if self.rounds < SPINS {
            self.rounds += 1;
            std::hint::spin_loop();
            return false;
        }
        let elapsed = self.since.get_or_insert_with(Instant::now).elapsed();
        if elapsed < YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep((elapsed / PART).min(LONGEST));
        }
        true
    }
}
