//! Live resources of the traced processes.

pub mod baseline;
pub mod ended_calls;
pub mod leaks;
pub mod live_bytes;
pub(crate) mod pools;
pub mod selected_functions;
