//! The contents of a trace: calls, look-ups, processes and argument values, independent of how they were read. Events
//! are immutable values. Shared parts are reference counted, so passing on an event copies no name.
#![warn(missing_docs)]

pub(crate) mod call;
pub(crate) mod described;
pub(crate) mod function;
pub(crate) mod gpu_row;
pub(crate) mod lookup;
pub(crate) mod pieces;
pub(crate) mod process;
pub(crate) mod result;
pub(crate) mod run_place;
pub(crate) mod value;
pub(crate) mod visitor;

pub use call::{Args, Call, CallStart, DriverArgs, Exit, HookAction, HookEffect, Log, State};
pub use cutap_calls::Layer;
pub use described::Described;
pub use function::{ByName, Function, NAMELESS_END, RangeMoment};
pub use gpu_row::{GpuRow, GpuWork};
pub use lookup::{Answer, Lookup, LookupKind};
pub use process::{Instance, Module, Process, Thread};
pub use result::{Returned, Returns};
pub use run_place::{RunName, RunPlace};
use std::sync::Arc;
pub use visitor::{EventVisitor, Outcome};

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A process was seen for the first time.
    Process(Arc<Process>),
    /// A runtime instance was found.
    Instance(Arc<Instance>, u64),
    /// A call began.
    Enter(Call),
    /// Something became known of a call that has begun and not ended: its kernel, its runtime, its stack, what hooks
    /// did, what the driver was given.
    Updated(Call),
    /// A call ended.
    Exit(Box<Exit>),
    /// A look-up was answered.
    Lookup(Box<Lookup>),
    /// A module image was kept.
    Module(Box<Module>),
    /// The GPU worked, or CUPTI said something of its collection.
    Row(Box<GpuRow>),
}

impl Event {
    /// Calls the visitor's method for this kind of event.
    pub fn visit<O: Outcome>(&self, visitor: &mut (impl EventVisitor<O> + ?Sized)) -> O {
        match self {
            Event::Process(process) => visitor.process(process),
            Event::Instance(instance, ns) => visitor.instance(instance, *ns),
            Event::Enter(call) if call.function.entry_only => visitor.enter_without_exit(call),
            Event::Enter(call) => visitor.enter(call),
            Event::Updated(call) => visitor.update(call),
            Event::Exit(exit) => visitor.exit(exit),
            Event::Lookup(lookup) => visitor.lookup(lookup),
            Event::Module(module) => visitor.module(module),
            Event::Row(row) => visitor.row(row),
        }
    }
}
