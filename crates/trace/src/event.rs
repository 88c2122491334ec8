//! What a trace is made of, once it is paired, ordered and named. Shared parts are counted
//! references, so that handing an event on costs no copy of a name.

use crate::decode::{Described, Value, name_of};
use crate::results::{Returned, Returns, returned};
use cutap_calls::known;
use cutap_wire::record::lookup;
use std::sync::{Arc, OnceLock};

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
    /// Name of its folder in the run folder.
    pub folder: Box<str>,
    /// Process id as it saw it itself.
    pub pid: u32,
    /// Parent's process id as it saw it itself.
    pub ppid: u32,
    /// Path of the program.
    pub exe: Box<str>,
    /// Command line.
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
    pub noted: bool,
    /// What its result register means.
    pub returns: Returns,
    /// What is known of its arguments.
    pub described: Option<Described>,
}

impl Function {
    /// The name for people.
    pub fn shown(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// Its parameters, if they are known.
    pub fn params(&self) -> &'static [known::Param] {
        self.described.map_or(&[], |d| d.function.params)
    }
}

/// Argument words. Six or fewer cost no memory of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Args {
    /// So many words of this array.
    Few(u8, [u64; 6]),
    /// More.
    Many(Box<[u64]>),
}

impl Args {
    /// The words.
    pub fn words(&self) -> &[u64] {
        match self {
            Args::Few(n, words) => &words[..usize::from(*n).min(6)],
            Args::Many(words) => words,
        }
    }
}

impl From<cutap_wire::record::Words<'_>> for Args {
    fn from(words: cutap_wire::record::Words<'_>) -> Args {
        if words.len() > 6 {
            return Args::Many(words.iter().collect());
        }
        let mut few = [0; 6];
        for (to, from) in few.iter_mut().zip(words.iter()) {
            *to = from;
        }
        Args::Few(words.len() as u8, few)
    }
}

/// A call. The same one is handed out when it begins and when it ends.
#[derive(Debug)]
pub struct Call {
    /// Who calls.
    pub thread: Arc<Thread>,
    /// What is called.
    pub function: Arc<Function>,
    /// How many calls that are shown it is made from.
    pub depth: u32,
    /// When, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Return address in the caller.
    pub caller: u64,
    /// Argument words.
    pub args: Args,
    /// Memory that was kept before the call, as `cutap_wire::record::Fragments` has it.
    pub(crate) memory: Box<[u8]>,
    /// The call that it was made from; only of those that take a kernel's parameters.
    pub(crate) parent: Option<Arc<Call>>,
    pub(crate) inputs: OnceLock<Box<[Value]>>,
    pub(crate) launched: OnceLock<Launched>,
    pub(crate) kernel: OnceLock<Arc<str>>,
    pub(crate) instance: OnceLock<Arc<Instance>>,
}

impl Call {
    /// The arguments as they were before the call, one for each parameter; empty when nothing is known
    /// of the function. A pointer to what the call writes is an address here.
    pub fn inputs(&self) -> &[Value] {
        self.inputs.get().map_or(&[], |values| values)
    }
    /// The kernel's parameters that the driver was given for this launch of a runtime. Known as soon as
    /// the driver is called.
    pub fn launched(&self) -> Option<&Launched> {
        self.launched.get()
    }
    /// Demangled name of the kernel that it launches. May become known a little after its beginning.
    pub fn kernel(&self) -> Option<&Arc<str>> {
        self.kernel.get()
    }
    /// The runtime instance that it went to. May become known a little after its beginning.
    pub fn instance(&self) -> Option<&Arc<Instance>> {
        self.function.instance.as_ref().or_else(|| self.instance.get())
    }
    /// Version of that instance.
    pub fn runtime_version(&self) -> Option<&str> {
        self.instance()?.version.as_deref()
    }
}

/// A kernel's parameters that a runtime passed on to the driver.
#[derive(Debug, Clone)]
pub struct Launched {
    /// The pointer that both calls have.
    pub at: u64,
    /// What the driver's call tells of them.
    pub parameters: Value,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It returned.
    Done,
    /// It was left by an exception, longjmp or the end of its thread.
    Unwound,
    /// It never ended.
    Unfinished,
}

impl State {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            State::Done => "done",
            State::Unwound => "unwound",
            State::Unfinished => "unfinished",
        }
    }
}

/// The end of a call.
#[derive(Debug, Clone)]
pub struct Exit {
    /// Which call.
    pub call: Arc<Call>,
    /// How.
    pub state: State,
    /// When it is known to have ended, or was last seen running.
    pub end_ns: u64,
    /// How long it took, if it returned.
    pub duration_ns: Option<u64>,
    /// The result register, 0 unless it returned.
    pub result: u64,
    /// It was handed out as unwound before, and returned after all (fibres do that).
    pub late: bool,
    /// Memory that was kept after the call.
    pub(crate) memory: Box<[u8]>,
    /// What the call wrote: parameters by their number.
    pub outputs: Box<[(u8, Value)]>,
    /// The result, when it is no status and its type is known.
    pub value: Option<Box<Value>>,
}

impl Exit {
    /// A call that did not return.
    pub(crate) fn without_return(call: Arc<Call>, state: State, end_ns: u64) -> Exit {
        let (memory, outputs) = (Box::default(), Box::default());
        Exit { call, state, end_ns, duration_ns: None, result: 0, late: false, memory, outputs, value: None }
    }

    /// The argument of this number as it was after the call, if the call wrote it.
    pub fn output(&self, n: usize) -> Option<&Value> {
        self.outputs.iter().find(|(of, _)| usize::from(*of) == n).map(|(_, value)| value)
    }

    /// Name of the status that it returned.
    pub fn status_name(&self) -> Option<&'static str> {
        let Some(Returned::Status(status)) = self.returned() else { return None };
        let described = self.call.function.described?;
        match *described.tables.types.get(usize::from(described.function.returns))? {
            known::Type::Status(of) => name_of(described.tables.enums.get(usize::from(of))?, status.into()),
            _ => None,
        }
    }
    /// The result as its function means it; `None` unless it returned.
    pub fn returned(&self) -> Option<Returned> {
        (self.state == State::Done).then(|| returned(&self.call.function, self.result))
    }
    /// The kernel that was launched. A runtime that says there is none has named none either: before 12.9 it
    /// passes on whatever lay in the place of the name, often the name of the launch before.
    pub fn kernel(&self) -> Option<&Arc<str>> {
        const INVALID_DEVICE_FUNCTION: i32 = 98;
        let none = self.call.function.layer == Layer::Runtime
            && matches!(self.returned(), Some(Returned::Status(INVALID_DEVICE_FUNCTION)));
        self.call.kernel().filter(|_| !none)
    }
    /// True for a status other than 0.
    pub fn is_error(&self) -> bool {
        matches!(self.returned(), Some(Returned::Status(n)) if n != 0)
    }
}

/// What a look-up was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Null,
    /// A function that we watch.
    Function(Arc<Function>),
    /// Something else, at this address.
    Address(u64),
}

/// Which function was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupKind {
    /// dlsym.
    Dlsym,
    /// dlvsym.
    Dlvsym,
    /// cuGetProcAddress with four arguments.
    GetProcAddress,
    /// cuGetProcAddress_v2.
    GetProcAddressV2,
    /// cuGetExportTable.
    GetExportTable,
    /// One that this version does not know.
    Other(u32),
}

impl LookupKind {
    pub(crate) fn new(which: u32) -> LookupKind {
        match which {
            lookup::DLSYM => LookupKind::Dlsym,
            lookup::DLVSYM => LookupKind::Dlvsym,
            lookup::GET_PROC_ADDRESS => LookupKind::GetProcAddress,
            lookup::GET_PROC_ADDRESS_V2 => LookupKind::GetProcAddressV2,
            lookup::GET_EXPORT_TABLE => LookupKind::GetExportTable,
            other => LookupKind::Other(other),
        }
    }
    /// Name of the function.
    pub fn word(self) -> &'static str {
        match self {
            LookupKind::Dlsym => "dlsym",
            LookupKind::Dlvsym => "dlvsym",
            LookupKind::GetProcAddress => "cuGetProcAddress",
            LookupKind::GetProcAddressV2 => "cuGetProcAddress_v2",
            LookupKind::GetExportTable => "cuGetExportTable",
            LookupKind::Other(_) => "unknown",
        }
    }
}

/// A dlsym, cuGetProcAddress or cuGetExportTable request.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// Who asks.
    pub thread: Arc<Thread>,
    /// When it was answered.
    pub ns: u64,
    /// Which function was asked.
    pub kind: LookupKind,
    /// What was asked for: a name, or a table's UUID.
    pub name: Box<str>,
    /// Handle of dlsym, or version asked for.
    pub handle: u64,
    /// Flags asked for, or the table's size.
    pub flags: u64,
    /// Return code, 0 for dlsym.
    pub code: i32,
    /// symbolStatus.
    pub symbol_status: u32,
    /// Object that asks, as far as its address tells.
    pub caller: Option<Arc<str>>,
    /// Return address in it.
    pub caller_address: u64,
    /// What was handed out.
    pub answer: Answer,
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
