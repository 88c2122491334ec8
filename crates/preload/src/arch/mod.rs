//! The code that the program's calls go through, which is assembler: thunks, gates, frames. One folder a processor.
//!
//! The folder of a processor has modules of fixed names for the rest of the crate. `code` tells where the code is, and
//! `frames` chooses among `fast_frames`. `exports`, `exec_entries` and `vfork` are what libc's names lead to. Its
//! assembler calls the functions of `callbacks` and no other.

mod callbacks;
mod frames;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
