//! A model of NVIDIA's kernel driver, release 580, for tests without a GPU. It has objects, handles, descriptors and memory files,
//! and refuses what an H200 with driver 580.159.04 refused. The values are those of recorded runs.
//!
//! [`Model`] answers requests whose bytes lie in the memory of a pretended process ([`Memory`]). [`Recorder`] makes the same
//! calls and keeps each as a `KernelCall`, so that all of `cutap kernel` can be tried on them. [`client`] is a program: it
//! makes the 17 calls after which a channel is scheduled.

pub mod client;
mod memory;
mod model;
mod objects;
mod recorder;

pub use memory::Memory;
pub use model::Model;
pub use recorder::Recorder;
