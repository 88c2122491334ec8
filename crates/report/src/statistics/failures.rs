//! Counts each failure once. A call often fails because a call inside it failed: `cudaMalloc` passes on what
//! `cuMemAlloc_v2` returned. Only the outermost of such calls is a failure, and the others are its causes.

use cutap_trace::Function;
use std::collections::HashMap;

/// The node of a failed call in the tree of calls, and its status.
pub type Failed = (u32, i32);

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    Failed(i32),
    /// CUDA had ended before, as it has when destructors run at the end of a process.
    Deinitialized(i32),
    /// It did not return, or returns no status.
    Unknown,
}

/// How a call of this function ended that returned this status.
pub fn outcome(function: &Function, status: Option<i32>) -> Outcome {
    let Some(status) = status else { return Outcome::Unknown };
    match function.status_name(status) {
        _ if !function.is_failure(status) => Outcome::Succeeded,
        Some(name) if name.ends_with("DEINITIALIZED") || name == "cudaErrorCudartUnloading" => {
            Outcome::Deinitialized(status)
        }
        _ => Outcome::Failed(status),
    }
}

/// A failed call. The calls around it have not ended, and may fail too.
#[derive(Debug)]
struct Pending {
    depth: u32,
    failed: Failed,
    causes: Vec<Failed>,
    is_handled: bool,
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
    handled: HashMap<Failed, FailureCount>,
}

impl Failures {
    /// A call of this depth ended: 1 is the outermost. `late`: the calls around it ended before.
    pub fn record_end(&mut self, depth: u32, node: u32, outcome: Outcome, late: bool) {
        let is_handled = matches!(outcome, Outcome::Deinitialized(_));
        if outcome == Outcome::Succeeded {
            self.pending.iter_mut().filter(|inner| inner.depth > depth).for_each(|inner| inner.is_handled = true);
        }
        if let Outcome::Failed(status) | Outcome::Deinitialized(status) = outcome {
            let from = self.pending.iter().position(|inner| inner.depth > depth).unwrap_or(self.pending.len());
            let causes = self.pending.drain(from..).flat_map(|inner| [vec![inner.failed], inner.causes].concat());
            let causes = causes.collect();
            self.pending.push(Pending { depth, failed: (node, status), causes, is_handled });
        }
        if depth > 1 && !late {
            return;
        }
        for Pending { failed, causes, is_handled, .. } in self.pending.drain(..) {
            let counts = if is_handled { &mut self.handled } else { &mut self.counts };
            let count = counts.entry(failed).or_default();
            count.calls += 1;
            causes.into_iter().for_each(|cause| *count.causes.entry(cause).or_default() += 1);
        }
    }

    /// Failures inside calls that succeeded, and those after the end of CUDA.
    pub fn handled(&self) -> &HashMap<Failed, FailureCount> {
        &self.handled
    }

    /// All other failures.
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
        failures.record_end(3, 3, Outcome::Failed(2), false);
        failures.record_end(2, 2, Outcome::Failed(2), false);
        failures.record_end(1, 1, Outcome::Failed(3), false);
        assert_eq!(failures.counts().len(), 1);
        let count = &failures.counts()[&(1, 3)];
        assert_eq!((count.calls, count.causes[&(2, 2)], count.causes[&(3, 2)]), (1, 1, 1));
    }

    #[test]
    fn a_failure_that_is_handled_counts_apart() {
        let mut failures = Failures::default();
        failures.record_end(2, 2, Outcome::Failed(201), false);
        failures.record_end(2, 2, Outcome::Failed(201), false);
        failures.record_end(1, 1, Outcome::Succeeded, false);
        failures.record_end(1, 1, Outcome::Failed(7), false);
        assert_eq!((calls(&failures, (2, 201)), calls(&failures, (1, 7))), (0, 1));
        assert_eq!(failures.handled()[&(2, 201)].calls, 2);
        assert!(failures.counts()[&(1, 7)].causes.is_empty(), "the call before it has ended");
    }

    #[test]
    fn a_failure_at_the_end_of_the_process_counts_apart() {
        let mut failures = Failures::default();
        failures.record_end(1, 1, Outcome::Deinitialized(4), false);
        assert_eq!((failures.handled()[&(1, 4)].calls, failures.counts().len()), (1, 0));
    }

    #[test]
    fn a_call_around_it_that_did_not_return_handles_nothing() {
        let mut failures = Failures::default();
        failures.record_end(2, 2, Outcome::Failed(1), false);
        failures.record_end(1, 0, Outcome::Unknown, false);
        assert_eq!((calls(&failures, (2, 1)), failures.handled().len()), (1, 0));
    }

    #[test]
    fn one_that_ended_after_the_calls_around_it() {
        let mut failures = Failures::default();
        failures.record_end(2, 2, Outcome::Failed(1), true);
        assert_eq!(calls(&failures, (2, 1)), 1);
    }
}
