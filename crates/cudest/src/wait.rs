//! How a wait passes the time: first it spins, then it yields, then it sleeps ever longer.

use std::time::Duration;

/// Rounds of spinning: about 20 microseconds. Then as many yields.
const SPINS: u32 = 400;
const YIELDS: u32 = 600;
const SHORTEST: Duration = Duration::from_micros(20);
/// A fault is noticed within this time.
const LONGEST: Duration = Duration::from_micros(500);

/// The state of one wait.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    rounds: u32,
}

impl Backoff {
    /// Passes some time. Whether it was long, so that the caller should look for faults and time limits.
    #[inline]
    pub fn pause(&mut self) -> bool {
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds < SPINS {
            std::hint::spin_loop();
            return false;
        }
        if self.rounds < YIELDS {
            std::thread::yield_now();
            return self.rounds.is_multiple_of(64);
        }
        let steps = (self.rounds - YIELDS).min(5);
        std::thread::sleep((SHORTEST * (1 << steps)).min(LONGEST));
        true
    }
}
