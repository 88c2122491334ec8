//! The code that the program's calls go through, which is assembler: thunks, gates, frames. One folder a processor.

mod callbacks;
pub mod code;
mod frames;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
