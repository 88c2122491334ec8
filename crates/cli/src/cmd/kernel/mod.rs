//! `cutap kernel`: the interface to NVIDIA's kernel driver. One file a subcommand, with its flags and what it does.

mod answers;
mod args;
mod census;
mod decode;
mod diff;
mod env;
mod input;
mod objects;
mod outside;
mod trace;
mod where_;

use clap::Subcommand;
use cutap_collect::{Error, Result};
use std::path::{Path, PathBuf};

/// A subcommand of `cutap kernel` with its flags.
#[derive(Debug, Subcommand)]
pub enum Kernel {
    /// Trace what a program or a running process sends to the kernel driver
    Trace(trace::Trace),
    /// Decode a log of ioctls: cutap's JSON, output of strace, logs of libcudest's shim
    Decode(decode::Decode),
    /// Print the objects of a run: clients, devices, channels, memory, below their parents
    Tree(objects::Tree),
    /// Print the mappings of device nodes: what for, and which CUDA call made them
    Maps(objects::Maps),
    /// Run a program and print which variables of the environment CUDA's libraries read
    Env(env::Env),
    /// Count what runs use of the kernel driver, and list every number that is not understood
    Census(census::Census),
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
            Kernel::Tree(args) => args.run(),
            Kernel::Maps(args) => args.run(),
            Kernel::Env(args) => args.run(),
            Kernel::Census(args) => args.run(),
            Kernel::Decode(args) => args.run(),
        }
    }
}

/// A file, or the library that the loader finds by this name.
fn named(file: &Path) -> PathBuf {
    let alone = file.components().count() == 1 && !file.exists();
    alone.then(|| cutap_collect::library(file.as_os_str())).flatten().unwrap_or_else(|| file.to_owned())
}

/// An error of the crate `cutap_kernel` as an error of a command.
fn own(error: cutap_kernel::Error) -> Error {
    Error::own(error.0)
}
