//! How long the calls of a place took. A few that took far longer than the others are no habit of the place: the first
//! call often starts something.

use crate::format::units::time;
use crate::statistics::histogram::Histogram;

/// Long calls that are kept apart at most.
const KEPT: usize = 8;
/// So many times as long as the median, and so many nanoseconds, is far longer.
const FAR: (u64, u64) = (10, 50_000);
/// One of so many calls may be one.
const FEW: u64 = 20;

/// Durations of calls.
#[derive(Debug, Default)]
pub struct Durations {
    total_ns: u64,
    times: Histogram,
    /// The longest, the longest first.
    longest: Vec<u64>,
}

impl Durations {
    /// Adds a call.
    pub fn add(&mut self, ns: u64) {
        self.total_ns = self.total_ns.saturating_add(ns);
        self.times.add(ns);
        let place = self.longest.partition_point(|longer| *longer >= ns);
        if place < KEPT {
            self.longest.insert(place, ns);
            self.longest.truncate(KEPT);
        }
    }

    /// How many there are.
    pub fn calls(&self) -> u64 {
        self.times.count()
    }

    /// Half of them took no longer.
    pub fn median_ns(&self) -> u64 {
        self.times.percentile(50)
    }

    fn outliers(&self) -> &[u64] {
        let least = self.median_ns().saturating_mul(FAR.0).max(FAR.1);
        let outliers = &self.longest[..self.longest.partition_point(|ns| *ns > least)];
        // More of them are a habit too.
        if outliers.len() as u64 * FEW <= self.calls() { outliers } else { &[] }
    }

    /// The time without those that took far longer than the others.
    pub fn ns(&self) -> u64 {
        self.total_ns.saturating_sub(self.outliers().iter().sum())
    }

    /// The mean of those that count.
    pub fn mean_ns(&self) -> u64 {
        self.ns() / self.calls().saturating_sub(self.outliers().len() as u64).max(1)
    }

    /// The sentence on those that do not count.
    pub fn left_out(&self) -> Option<String> {
        let ns = time(self.outliers().iter().sum());
        match self.outliers().len() {
            0 => None,
            1 => Some(format!("without one call of {ns}, which took far longer than the others")),
            n => Some(format!("without {n} calls of {ns} together, which took far longer than the others")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_call_is_no_habit() {
        let mut durations = Durations::default();
        (0..99).for_each(|_| durations.add(5_000));
        durations.add(12_200_000);
        assert_eq!((durations.calls(), durations.ns(), durations.mean_ns()), (100, 495_000, 5_000));
        assert_eq!(durations.left_out().unwrap(), "without one call of 12.2ms, which took far longer than the others");
    }

    #[test]
    fn long_calls_are_a_habit() {
        let mut durations = Durations::default();
        (0..24).for_each(|_| durations.add(7_000));
        [60_000_000, 70_000_000, 80_000_000].iter().for_each(|ns| durations.add(*ns));
        assert_eq!((durations.ns(), durations.left_out()), (210_168_000, None));
    }
}
