//! A context: what its streams share, and what is freed after their work.

pub mod allocations;
pub mod boost;
pub mod code_map;
pub mod context_memory;
pub mod cooperative_state;
pub mod lanes;
pub mod shared;
pub mod staging;
