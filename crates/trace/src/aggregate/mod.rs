//! Sums over the calls of a run, thread after thread: no event is made, and nothing is kept of a call that has ended.

pub mod aggregator;
pub mod call_sums;
pub mod launches;
pub mod open_sum;
pub mod sink;
