//! A model of NVIDIA's kernel driver, release 580, for tests without a GPU.
//!
//! It has objects, handles, descriptors and memory files. It refuses what an H200 with driver 580.159.04 refused. The
//! values are those of recorded runs.
//!
//! [`Model`] answers requests. Their bytes are in the memory of a pretended process ([`Memory`]).
//!
//! [`Recorder`] makes the same calls and keeps each as a `KernelCall`. So all of `cutap syscall` can be tried on them.
//!
//! [`client`] is a program that makes a scheduled channel by 17 requests.

pub mod client;
mod gpu;
mod memory;
mod model;
mod objects;
mod recorded;
mod recorder;

pub use memory::{Memory, Pieces};
pub use model::{Model, Note};
pub use recorded::Answers;
pub use recorder::Recorder;
