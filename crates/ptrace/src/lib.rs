//! The mechanism of a tracer by ptrace. `gate` starts a program with a seccomp filter that `filter` builds, `attach`
//! seizes the threads of a running process. `sys` waits for stops and reads system calls, `memory` the memory of a
//! stopped thread, by the threads of `assistants` where a read may wait. What a stop means is the caller's.
//!
//! The result of no system call changes. Registers or bytes change only for a moment (`untraced`).

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod assistants;
pub mod attach;
mod error;
pub mod filter;
mod gate;
pub mod memory;
mod refused;
pub mod sys;
pub mod untraced;

pub use error::Error;
pub use gate::Gate;
pub use refused::{process_of, why_refused};
