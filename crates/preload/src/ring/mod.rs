//! A thread's state and its ring: reserving, writing records, counting. Knows nothing of CUDA.

pub mod chunks;
pub mod count_files;
pub mod counts;
pub mod heads;
pub mod kept_calls;
pub mod open_ranges;
pub mod owner;
pub mod record;
pub mod reserve;
pub mod rows;
pub mod thread_state;
pub mod thread_states;
