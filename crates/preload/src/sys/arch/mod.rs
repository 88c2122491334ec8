//! What depends on the processor beside the frames (`crate::arch`). One folder a processor.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
