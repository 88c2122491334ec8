//! Addresses and memory of a GPU, without a context: spaces, allocations, and the pool that cuts them.

pub mod allocation;
pub mod physical;
pub mod pool;
pub mod reserve;
pub mod space;
pub mod uvm;
