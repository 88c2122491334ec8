//! Reads the code of GPUs: cubins, fat binaries and PTX. The simulated driver, `cudest` and `trace` use it. They choose
//! an entry, lay out sections and name kernels themselves.
//!
//! Any bytes give contents or an error, never a panic. No size in an image is trusted: unpacked code has at most
//! [`LARGEST`] bytes, and a reader that looks at the same bytes again and again stops (see [`Work`]).

mod cubin;
mod elf;
mod error;
pub mod fatbin;
mod info;
mod parts;
pub mod ptx;
mod relocations;
mod source;
mod work;

pub use cubin::Cubin;
pub use elf::{is_elf, whole};
pub use error::{Error, Result};
pub use parts::{Kernel, Parameter, Section, Variable};
pub use relocations::{Relocation, Relocations, Target};
pub use source::{Source, number};
pub use work::Work;

/// Bytes of code at most, packed or not. The largest cubins have about a tenth of it.
pub const LARGEST: u64 = 1 << 28;

/// Bytes of all parameters of a kernel at most, on every GPU.
pub const MOST_PARAMETERS: u64 = 32_764;
