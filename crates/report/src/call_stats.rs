//! Counts and times of calls of one kind: how many, how many failed, how long they took.

use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Counts and times.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CallStats {
    pub calls: u64,
    pub errors: u64,
    /// Calls that did not end, or were left: they have no time.
    pub open: u64,
    pub total_ns: u64,
    /// Without the calls inside.
    pub self_ns: u64,
    pub times: Histogram,
}

impl CallStats {
    /// A call is over: how long it took, if it returned, and how long the calls inside it did. One that is
    /// `late` was counted before as one that did not return.
    pub fn add(&mut self, took_ns: Option<u64>, inside_ns: u64, error: bool, late: bool) {
        self.calls += u64::from(!late);
        self.errors += u64::from(error);
        match took_ns {
            Some(took) => {
                self.total_ns = self.total_ns.saturating_add(took);
                self.self_ns = self.self_ns.saturating_add(took.saturating_sub(inside_ns));
                self.times.add(took);
                self.open = self.open.saturating_sub(u64::from(late));
            }
            None => self.open += 1,
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &CallStats) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.open += other.open;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.times.merge(&other.times);
    }

    /// The mean of those that returned.
    pub fn mean_ns(&self) -> u64 {
        self.total_ns / self.times.count().max(1)
    }
}
