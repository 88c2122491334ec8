//! Capture from outside by ptrace, for any program: static, Go, musl. A program that cutap starts has a seccomp filter,
//! which stops only the system calls of this layer. A running process is stopped at every system call.
//!
//! The tracer changes no result, and registers or bytes only for a moment (`untraced.rs`). It resumes a thread that it
//! cannot handle. Its own thread asks no file system and reads only pages that are present, for all else may wait for
//! the traced program.
//! `close_range`, exec and exit close descriptors without a line: each ioctl reads the file of its descriptor.

mod assistants;
mod capture;
mod descriptors;
mod filter;
mod gate;
mod memory;
mod refused;
mod sys;
mod threads;
mod tracer;
mod untraced;

pub use gate::Gate;
pub use refused::why_refused;
pub use tracer::{Missed, TraceeEnd, Tracer};
