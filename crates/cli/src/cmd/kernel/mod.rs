//! `cutap kernel`: the interface to NVIDIA's kernel driver. One file a subcommand, with its flags and what it does.

mod decode;
mod diff;
mod trace;
mod where_;

use clap::Subcommand;
use cutap_collect::{Error, Result};

/// A subcommand of `cutap kernel` with its flags.
#[derive(Debug, Subcommand)]
pub enum Kernel {
    /// Trace what a program or a running process sends to the kernel driver
    Trace(trace::Trace),
    /// Decode a log of ioctls: cutap's JSON, output of strace, logs of libcudest's shim
    Decode(decode::Decode),
    /// Compare two driver releases (570 580), or the calls of two runs
    Diff(diff::Diff),
    /// Print the code around each call of ioctl, mmap and getenv in a library or a program
    Where(where_::Where),
}

impl Kernel {
    pub fn run(self) -> Result<()> {
        match self {
            Kernel::Trace(args) => args.run(),
            Kernel::Where(args) => args.run(),
            Kernel::Diff(args) => args.run(),
            Kernel::Decode(args) => args.run(),
        }
    }
}

/// An error of the crate `cutap_kernel` as an error of a command.
fn own(error: cutap_kernel::Error) -> Error {
    Error::own(error.0)
}
