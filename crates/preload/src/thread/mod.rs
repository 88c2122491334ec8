//! Thread state, ring, clock, fork. Knows nothing of CUDA.

pub mod clock;
mod count_files;
pub mod counts;
pub mod fork;
pub mod heads;
pub mod owner;
pub mod record;
pub mod reserve;
pub mod ring;
pub mod robust_list;
pub mod stack;
pub mod thread_state;
pub mod thread_states;
pub mod vfork_word_x86_64;
pub mod vfork_x86_64;
