//! The ranges that a filter selects, by name: a second reading of the run hands out what the filter lets through.

use crate::nesting::range_spans::RangeName;
use cutap_trace::{Call, EventVisitor};
use std::collections::HashSet;

/// Names of ranges.
#[derive(Debug, Default)]
pub(super) struct SelectedRanges(HashSet<RangeName>);

impl SelectedRanges {
    pub fn has(&self, name: &RangeName) -> bool {
        self.0.contains(name)
    }
}

impl EventVisitor for SelectedRanges {
    fn enter(&mut self, call: &Call) {
        if call.function.range.is_some() {
            self.0.insert(RangeName::of(&call.function));
        }
    }
}
