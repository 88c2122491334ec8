//! What a trace is made of: calls, look-ups, processes and the values of arguments, with no knowledge of how they were
//! read. Shared parts are counted references, so that passing an event on copies no name.
#![warn(missing_docs)]

pub(crate) mod call;
pub(crate) mod described;
pub(crate) mod function;
pub(crate) mod layer;
pub(crate) mod lookup;
pub(crate) mod process;
pub(crate) mod result;
pub(crate) mod value;

pub use call::{Args, Call, DriverArgs, Exit, HookAction, Hooked, Log, State};
pub use described::Described;
pub use function::Function;
pub use layer::Layer;
pub use lookup::{Answer, Lookup, LookupKind};
pub use process::{Instance, Module, Process, Thread};
pub use result::{Returned, Returns};
use std::sync::Arc;

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
