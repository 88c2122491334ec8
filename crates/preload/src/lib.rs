//! The library inside the target. It looks at every function's address that is handed out to the
//! program, hands out a slot's address instead where that function is watched, and moves words into
//! rings. Meaning is made outside.
//!
//! Never here: heap, locks that fork could copy in a taken state, threads, std, panics, a look-up in
//! the middle of a call, a decision to end the program. In doubt the call passes and is counted.
//!
//! The folders are floors. A file imports only from its own floor and from lower ones. What a lower floor needs of an
//! upper one is a word that `entry` fills at the start. The order, lowest first:
//!
//! * [`sys`]: the kernel and libc; system calls, instructions, a thread's own words.
//! * [`process`]: the run directory, the process folder, names, switches, fork, clock.
//! * [`loader`]: what the dynamic loader knows: objects, symbols, relocations.
//! * [`ring`]: thread state, ring, records, counts; knows nothing of CUDA.
//! * [`exec`]: programs that the process starts.
//! * [`slots`]: a watched function: its slot, its row of the registry, a call as it stands in a frame.
//! * [`capture`]: what is kept of a call beside its words.
//! * [`python`]: the Python frames of a thread.
//! * [`runtime`]: runtime instances and what they report.
//! * [`rewrite`]: words of loaded objects that are exchanged.
//! * [`routes`]: one file per way in which an address is handed out; knows addresses, not meanings.
//! * [`interceptors`]: what runs around a call, recording first.
//! * [`hook_libraries`]: hook libraries and what they want.
//! * [`submit`]: what a driver call adds to the rings of the GPU's channels.
//! * [`arch`]: thunks, gates and frames, in assembler.
//! * [`entry`]: the start, a forked child, what the shared library exports.
#![no_std]
#![allow(clippy::missing_safety_doc)] // internal functions: each file says under which contract it works

pub mod arch;
pub mod capture;
pub mod entry;
pub mod exec;
pub mod hook_libraries;
pub mod interceptors;
pub mod loader;
pub mod nvtx;
pub mod process;
pub mod python;
pub mod rewrite;
pub mod ring;
pub mod routes;
pub mod runtime;
pub mod slots;
pub mod submit;
pub mod sys;
