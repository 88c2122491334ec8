//! Counts each failure once. A call often fails because a call inside it failed: `cudaMalloc` passes on what
//! `cuMemAlloc_v2` returned. Only the outermost of such calls is a failure, and the others are its causes.

use std::collections::HashMap;

/// The node of a failed call in the tree of calls, and its status.
pub type Failed = (u32, i32);

/// A failed call. The calls around it have not ended, and may fail too.
#[derive(Debug)]
struct Pending {
    depth: u32,
    failed: Failed,
    causes: Vec<Failed>,
}

/// Failures of one node and status.
#[derive(Debug, Default)]
pub struct FailureCount {
    pub calls: u64,
    /// Failed calls inside these.
    pub causes: HashMap<Failed, u64>,
}

/// Failures by node and status.
#[derive(Debug, Default)]
pub struct Failures {
    pending: Vec<Pending>,
    counts: HashMap<Failed, FailureCount>,
}

impl Failures {
    /// A call of this depth ended: 1 is the outermost. With a status it failed. `late`: the calls around it ended
    /// before.
    pub fn ended(&mut self, depth: u32, node: u32, status: Option<i32>, late: bool) {
        if let Some(status) = status {
            let from = self.pending.iter().position(|inner| inner.depth > depth).unwrap_or(self.pending.len());
            let causes = self.pending.drain(from..).flat_map(|inner| [vec![inner.failed], inner.causes].concat());
            let causes = causes.collect();
            self.pending.push(Pending { depth, failed: (node, status), causes });
        }
        if depth > 1 && !late {
            return;
        }
        for Pending { failed, causes, .. } in self.pending.drain(..) {
            let count = self.counts.entry(failed).or_default();
            count.calls += 1;
            causes.into_iter().for_each(|cause| *count.causes.entry(cause).or_default() += 1);
        }
    }

    /// The failures that were counted.
    pub fn counts(&self) -> &HashMap<Failed, FailureCount> {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(failures: &Failures, failed: Failed) -> u64 {
        failures.counts().get(&failed).map_or(0, |count| count.calls)
    }

    #[test]
    fn a_failure_that_is_passed_on_is_one() {
        let mut failures = Failures::default();
        // library(runtime(driver fails) fails) fails
        failures.ended(3, 3, Some(2), false);
        failures.ended(2, 2, Some(2), false);
        failures.ended(1, 1, Some(3), false);
        assert_eq!(failures.counts().len(), 1);
        let count = &failures.counts()[&(1, 3)];
        assert_eq!((count.calls, count.causes[&(2, 2)], count.causes[&(3, 2)]), (1, 1, 1));
    }

    #[test]
    fn a_failure_that_is_handled_counts_by_itself() {
        let mut failures = Failures::default();
        failures.ended(2, 2, Some(201), false);
        failures.ended(2, 2, Some(201), false);
        failures.ended(1, 1, None, false);
        failures.ended(1, 1, Some(7), false);
        assert_eq!((calls(&failures, (2, 201)), calls(&failures, (1, 7))), (2, 1));
        assert!(failures.counts()[&(1, 7)].causes.is_empty(), "the call before it has ended");
    }

    #[test]
    fn one_that_ended_after_the_calls_around_it() {
        let mut failures = Failures::default();
        failures.ended(2, 2, Some(1), true);
        assert_eq!(calls(&failures, (2, 1)), 1);
    }
}
