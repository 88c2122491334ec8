//! How many calls of a filter each range of a name has.

use cutap_trace::{Call, EventVisitor, Exit};
use std::collections::HashMap;

/// Counts. It reads the ranges and the calls of the filter, which may be inside one another.
#[derive(Debug, Default)]
pub struct RangeCounts {
    /// Of each thread, its open ranges of the name: when they began, and how many calls they have.
    open: HashMap<u32, Vec<(u64, u64)>>,
    /// Of the ranges that ended: when they began, and how many calls they have.
    pub ended_ranges: Vec<(u64, u64)>,
}

impl EventVisitor for RangeCounts {
    fn enter(&mut self, call: &Call) {
        let open = self.open.entry(call.thread.key).or_default();
        if call.function.range.is_some() {
            open.push((call.start_ns, 0));
        } else {
            open.iter_mut().for_each(|(_, calls)| *calls += 1);
        }
    }

    fn exit(&mut self, exit: &Exit) {
        if exit.call.function.range.is_some()
            && let Some(range) = self.open.get_mut(&exit.call.thread.key).and_then(Vec::pop)
        {
            self.ended_ranges.push(range);
        }
    }
}

impl RangeCounts {
    /// The median of the counts.
    pub fn median(&self) -> Option<u64> {
        let mut counts: Vec<u64> = self.ended_ranges.iter().map(|(_, calls)| *calls).collect();
        counts.sort_unstable();
        counts.get(counts.len() / 2).copied()
    }
}
