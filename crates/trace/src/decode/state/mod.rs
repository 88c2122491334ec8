//! The state of a process at one moment of its trace: handles, allocations, contexts, graphs. Calls are followed in the
//! order of their time.

pub mod allocations;
pub mod call_handles;
pub mod devices;
pub mod effect_origin;
pub mod ending;
pub mod ends;
pub mod fast_hash;
pub mod graphs;
pub mod handle_coverage;
pub mod handles;
pub mod logs;
pub mod ownership;
pub mod process_state;
pub mod recorded_calls;
