//! Calls inside calls, and the stacks that they were made on.

pub mod call_place;
pub mod nest;
pub mod open_calls;
pub mod open_ranges;
pub mod path_stacks;
pub mod range_spans;
pub mod source_line;
pub mod stacks;
