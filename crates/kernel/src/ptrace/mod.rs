//! Capture from outside by ptrace, for any program: static, Go, musl. A program that cutap starts has a seccomp filter,
//! which stops only the system calls of this layer. A running process is stopped at every system call.
//!
//! The mechanism is in `cutap_ptrace`. The tracer resumes a thread that it cannot handle. Its own thread asks no file
//! system and reads only pages that are present, for all else may wait for the traced program.
//! `close_range`, exec and exit close descriptors without a line: each ioctl reads the file of its descriptor.

mod capture;
mod descriptors;
mod reader;
mod stopped;
mod threads;
mod tracer;

pub use cutap_ptrace::why_refused;
pub use stopped::gate;
pub use tracer::{Missed, TraceeEnd, Tracer};
