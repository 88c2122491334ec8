//! Capture from outside by ptrace, for any program: static, Go, musl. A program that cutap starts has a seccomp filter,
//! which stops only the system calls of this layer. A running process is stopped at every system call.
//!
//! The tracer never changes a register, a byte or a result. A thread that it cannot handle is resumed.
//! `close_range`, exec and exit close descriptors without a line: each ioctl reads the file of its descriptor.

mod capture;
mod filter;
mod gate;
mod memory;
mod refused;
mod sys;
mod threads;
mod tracer;

pub use gate::Gate;
pub use refused::why_refused;
pub use tracer::{TraceeEnd, Tracer};
