//! Calls of a program to NVIDIA's kernel driver: the model of a call and its JSON format, readers of logs, text and
//! JSON output, comparison of two runs or two driver releases, capture by ptrace, and what a file on disk tells about
//! its system calls. What the bytes mean is in `cutap_rm`.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod call;
mod error;
mod hex;
pub mod json;

pub use call::{Action, Head, Ioctl, KernelCall, Parent, Piece, Run};
pub use error::{Error, Result};
