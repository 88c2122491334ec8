//! `cutap syscall`: the interface to NVIDIA's kernel driver. One file a subcommand, with its flags and what it does.

mod answers;
mod args;
mod census;
mod decode;
mod diff;
mod getenv;
mod input;
mod objects;
mod outside;
mod sites;
mod trace;

use clap::Subcommand;
use cutap_collect::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A subcommand of `cutap syscall` with its flags.
#[derive(Debug, Subcommand)]
pub enum Syscall {
    /// Trace what a program or a running process sends to the kernel driver
    Trace(Box<trace::Trace>),
    /// Decode a log of ioctls: cutap's JSON, output of strace, logs of libcudest's shim
    Decode(decode::Decode),
    /// Print the objects of a run: clients, devices, channels, memory, below their parents
    Tree(objects::Tree),
    /// Print the mappings of device nodes: what for, and which CUDA call made them
    Maps(objects::Maps),
    /// Run a program and print which variables of the environment CUDA's libraries read
    Getenv(getenv::Getenv),
    /// Count what runs use of the kernel driver, and list every number that is not understood
    Census(census::Census),
    /// Compare two driver releases (570 580), or the calls of two runs
    Diff(diff::Diff),
    /// Print the code around each call of ioctl, mmap and getenv in a library or a program
    Sites(sites::Sites),
}

impl Syscall {
    pub fn run(self) -> Result<()> {
        match self {
            Syscall::Trace(args) => args.run(),
            Syscall::Sites(args) => args.run(),
            Syscall::Diff(args) => args.run(),
            Syscall::Tree(args) => args.run(),
            Syscall::Maps(args) => args.run(),
            Syscall::Getenv(args) => args.run(),
            Syscall::Census(args) => args.run(),
            Syscall::Decode(args) => args.run(),
        }
    }
}

/// The new name of a subcommand that had another one.
pub fn renamed(words: &[OsString]) -> Option<&'static str> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    match words[..] {
        ["syscall", "env", ..] => Some("env is called getenv: cutap syscall getenv"),
        ["syscall", "where", ..] => Some("where is called sites: cutap syscall sites"),
        _ => None,
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
