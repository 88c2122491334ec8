//! The state of a process at one moment of its trace: handles, allocations, contexts, graphs. Calls are followed in the
//! order of their time.

pub mod allocations;
pub mod call_handles;
pub mod devices;
pub mod effect_origin;
pub mod fast_hash_map;
pub mod free_coverage;
pub mod graphs;
pub mod handle_coverage;
pub mod handles;
pub mod ownership;
pub mod pending_ends;
pub mod process_state;
pub mod recorded_calls;
