//! What a trace is made of, once it is paired, ordered and named. Shared parts are counted
//! references, so that handing an event on costs no copy of a name.
#![warn(missing_docs)]

mod call;
mod lookup;

use crate::decode::{Described, name_of};
use crate::results::{Returned, Returns, returned, undeclared_status};
pub use call::{Args, Call, DriverArgs, Exit, HookAction, Hooked, Log, State};
use cutap_calls::known;
pub use lookup::{Answer, Lookup, LookupKind};
use std::sync::Arc;

/// The layer of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// A toolkit library.
    Library,
    /// The runtime API.
    Runtime,
    /// The driver API.
    Driver,
}

impl Layer {
    /// Its word in filters and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Library => "library",
            Layer::Runtime => "runtime",
            Layer::Driver => "driver",
        }
    }
}

/// A traced process.
#[derive(Debug, PartialEq, Eq)]
pub struct Process {
    /// Number of this process in the run, from 0 in the order of discovery.
    pub key: u32,
    /// Name of its folder in the run directory.
    pub folder: Box<str>,
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

/// A function that is called.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Number of this function in the run; no two slots share one.
    pub key: u32,
    /// Its layer.
    pub layer: Layer,
    /// SONAME or file name of its library.
    pub library: Arc<str>,
    /// Its exported name, or the name that the runtime's own table has.
    pub name: Arc<str>,
    /// The name for people, when the exported one is a mangled C++ name.
    pub demangled: Option<Arc<str>>,
    /// The runtime instance that it belongs to, for a function that a callback reports.
    pub instance: Option<Arc<Instance>>,
    /// Only its beginning is recorded: it is jumped to, and nobody sees it return.
    pub entry_only: bool,
    /// What its result register means.
    pub returns: Returns,
    /// Its calls change what is followed in ways that only its name tells.
    pub by_name: bool,
    /// What is known of its arguments.
    pub described: Option<Described>,
}

impl Function {
    /// The name for people.
    pub fn shown(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// The status that this result is, if that is what it returns.
    pub fn status(&self, result: u64) -> Option<i32> {
        match returned(self, result) {
            Returned::Status(status) => Some(status),
            _ => None,
        }
    }

    /// A runtime that says there is no such kernel has named none either: before 12.9 it passes on whatever lay in the place of the
    /// name, often the name of the launch before.
    pub(crate) fn has_named_none(&self, status: Option<i32>) -> bool {
        const INVALID_DEVICE_FUNCTION: i32 = 98;
        self.layer == Layer::Runtime && status == Some(INVALID_DEVICE_FUNCTION)
    }

    /// Name of a status of this function.
    pub fn status_name(&self, status: i32) -> Option<&'static str> {
        let Some(described) = self.described else {
            return undeclared_status(self.layer, &self.name, status);
        };
        match *described.tables.types.get(usize::from(described.function.returns))? {
            known::Type::Status(of) => name_of(described.tables.enums.get(usize::from(of))?, status.into()),
            _ => None,
        }
    }

    /// Its parameters, if they are known.
    pub fn params(&self) -> &'static [known::Param] {
        self.described.map_or(&[], |d| d.function.params)
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

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A process was seen for the first time.
    Process(Arc<Process>),
    /// A runtime instance was found.
    Instance(Arc<Instance>, u64),
    /// A call began.
    Enter(Arc<Call>),
    /// A call ended.
    Exit(Exit),
    /// A look-up was answered.
    Lookup(Box<Lookup>),
    /// A module image was kept.
    Module(Box<Module>),
}
