//! Processes, their threads, and the runtimes and module images in them.

use super::run_place::RunName;
use std::sync::Arc;

/// A traced process.
#[derive(Debug, PartialEq, Eq)]
pub struct Process {
    /// Number of this process in the run, from 0 in the order of discovery.
    pub key: u32,
    /// Name of its folder in the run directory.
    pub folder: Box<str>,
    /// Its run, if several are read together.
    pub run: Option<Arc<RunName>>,
    /// Process id as it saw it itself.
    pub pid: u32,
    /// Parent's process id as it saw it itself.
    pub ppid: u32,
    /// Path of the program; for people to be made [`printable`](crate::printable).
    pub exe: Box<str>,
    /// Command line, as much of it as was kept; the same.
    pub arguments: Vec<String>,
    /// A forked child that never called exec.
    pub forked: bool,
    /// Folder of the process that forked it.
    pub parent: Option<Box<str>>,
    /// First traced moment, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The same moment, nanoseconds since 1970.
    pub start_realtime_ns: u64,
}

/// A thread of a traced process.
#[derive(Debug, PartialEq, Eq)]
pub struct Thread {
    /// Number of this thread in the run, from 0 in the order of discovery; no two threads share one.
    pub key: u32,
    /// Thread id as the process saw it.
    pub tid: u32,
    /// What it was called when its first call was recorded, if not as its program.
    pub name: Option<Arc<str>>,
    /// Its process.
    pub process: Arc<Process>,
}

/// One copy of the CUDA runtime in a process.
#[derive(Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its process.
    pub process: Arc<Process>,
    /// Its number in the process.
    pub id: u64,
    /// SONAME or file name of the object that holds it.
    pub library: Arc<str>,
    /// The object is the shared runtime itself; otherwise a copy is linked into it.
    pub shared: bool,
    /// `12.9`, or `None` when it is not known.
    pub version: Option<Box<str>>,
    /// The same as CUDA writes it: 12090.
    pub number: Option<u32>,
}

impl Instance {
    /// How it reaches its program, in words.
    pub fn linkage(&self) -> &'static str {
        if self.shared { "shared" } else { "linked in" }
    }
}

/// A module image that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Whose.
    pub process: Arc<Process>,
    /// When.
    pub ns: u64,
    /// Its length.
    pub bytes: u64,
    /// 1 cubin, 2 fatbin, 3 PTX.
    pub kind: u64,
    /// File under `RUN/modules`.
    pub file: Box<str>,
}
