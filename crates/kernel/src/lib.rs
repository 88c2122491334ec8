//! Calls of a program to NVIDIA's kernel driver. `call` is the model of a call, `json` its format, `formats` the
//! readers of logs. `decode` finds the tables, `show` writes text and JSON. The meaning of the bytes is in `cutap_rm`.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod call;
pub mod census;
pub mod command;
pub mod decode;
pub mod diff;
mod error;
pub mod formats;
mod generated;
mod hex;
mod hex_fields;
mod input_file;
pub mod json;
pub mod maps;
pub mod nvproxy;
pub mod objects;
pub mod ptrace;
mod ranges;
pub mod scan;
pub mod select;
pub mod show;
mod system_call;
pub mod tree;
pub mod variables;

pub use call::{Action, Head, Ioctl, KernelCall, Parent, Piece, Run, Submitted};
pub use error::{Error, Result};
pub use system_call::{OpenFlags, SystemCall};
