//! `cutap kernel`: the interface to NVIDIA's kernel driver. One file a subcommand, with its flags and what it does.

mod answers;
mod decode;
mod trace;

use clap::Subcommand;
use cutap_collect::{Error, Result};

/// A subcommand of `cutap kernel` with its flags.
#[derive(Debug, Subcommand)]
pub enum Kernel {
    /// Run a program and print what its CUDA libraries send to the kernel driver
    Trace(trace::Trace),
    /// Decode a log of ioctls: cutap's JSON, output of strace, logs of libcudest's shim
    Decode(decode::Decode),
}

impl Kernel {
    pub fn run(self) -> Result<()> {
        match self {
            Kernel::Trace(args) => args.run(),
            Kernel::Decode(args) => args.run(),
        }
    }
}

/// An error of the crate `cutap_kernel` as an error of a command.
fn own(error: cutap_kernel::Error) -> Error {
    Error::own(error.0)
}
