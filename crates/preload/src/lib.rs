//! The library inside the target. It looks at every function's address that is handed out to the
//! program, hands out a slot's address instead where that function is watched, and moves words into
//! rings. Meaning is made outside.
//!
//! Never here: heap, locks that fork could copy in a taken state, threads, std, panics, a look-up in
//! the middle of a call, a decision to end the program. In doubt the call passes and is counted.
//!
//! * [`routes`]: one file per way in which an address is handed out; knows addresses, not meanings.
//! * [`loader`]: what the dynamic loader knows: objects, symbols, relocations.
//! * [`slots`]: slot table, thunks, the frame around a call, the chain of interceptors.
//! * [`hook`]: hook libraries and what they want.
//! * [`capture`]: what is kept of a call beside its words.
//! * [`exec`]: programs that the process starts.
//! * [`thread`]: thread state, ring, clock, fork; knows nothing of CUDA.
//! * [`submit`]: what a driver call adds to the rings of the GPU's channels.
//! * [`start`]: the run directory, the process folder, names.
#![no_std]
#![allow(clippy::missing_safety_doc)] // internal functions: each file says under which contract it works

pub mod capture;
pub mod exec;
pub mod hook;
pub mod loader;
pub mod routes;
pub mod slots;
pub mod start;
pub mod submit;
pub mod sys;
pub mod thread;

#[cfg(feature = "inject")]
mod inject;
