//! What a program asks of a stream: done in the stream's order, or, while the stream is captured, kept as a node of a
//! graph and done each time the graph is launched.

use super::copy::{self, Run};
use super::driver_state::{DriverState, Guard, Handle, known_mut};
use super::fault::Answer;
use super::graph::Parts;
use super::shape::{Copy3D, Set};
use super::stream::{Data, HostFunction, Work};
use super::value::Operation;
use super::{capture, destroy, engine};
use std::sync::Arc;

/// A launch as it is kept: who, how large, with which arguments.
#[derive(Clone, Default)]
pub struct Launch {
    pub function: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub arguments: Option<Arc<Arguments>>,
    pub attributes: std::collections::BTreeMap<u32, [u64; 8]>,
}

/// A kernel's arguments, copied: the block, and a pointer to each as programs pass them.
pub struct Arguments {
    /// Where the pointers lead.
    pub _block: Box<[u8]>,
    pub pointers: Box<[u64]>,
}

#[derive(Clone)]
pub enum Task {
    Kernel(Box<Launch>),
    Copy(Box<Copy3D>),
    Set(Set),
    Host(HostFunction, Data),
    /// All of another graph: what a node owns (NULL for a launch), and its nodes once they can be launched.
    Child(Handle, Arc<Parts>),
    Empty,
    Wait(Handle),
    Record(Handle),
    /// Memory that was set aside when the node was made: address and size.
    Allocate(u64, u64),
    /// Memory that goes: of a graph in a graph, any in a stream.
    Free(u64),
    Values(Vec<Operation>),
    /// A conditional node: the graphs of its bodies, which nobody can choose from without a kernel.
    Conditional(Arc<[Handle]>),
}

impl Task {
    /// As the driver numbers kinds of nodes.
    pub fn kind(&self) -> u32 {
        match self {
            Task::Kernel(_) => 0,
            Task::Copy(_) => 1,
            Task::Set(_) => 2,
            Task::Host(..) => 3,
            Task::Child(..) => 4,
            Task::Empty => 5,
            Task::Wait(_) => 6,
            Task::Record(_) => 7,
            Task::Allocate(..) => 10,
            Task::Free(_) => 11,
            Task::Values(_) => 12,
            Task::Conditional(..) => 13,
        }
    }

    /// Whether it could be done now; for what is kept for later.
    pub fn check(&self, world: &DriverState) -> Answer {
        match self {
            Task::Copy(what) => copy::copy(world, what).map(drop),
            Task::Set(what) => copy::set(world, what).map(drop),
            Task::Wait(event) | Task::Record(event) => super::driver_state::known(&world.events, *event).map(drop),
            _ => Ok(()),
        }
    }

    /// Whether a copy or a set stays in its memory; for a node that is told to do something else.
    pub fn check_range(&self, world: &DriverState) -> Answer {
        if matches!(self, Task::Copy(_) | Task::Set(_)) { self.check(world) } else { Ok(()) }
    }

    /// The operations of a stream that it is.
    pub fn works(&self, world: &mut DriverState) -> Answer<Vec<Work>> {
        let ours = |run: Option<Run>| Ok(run.map(Work::Ours).into_iter().collect());
        match self {
            Task::Kernel(_) => Ok(vec![Work::Ours(Box::new(|| {}))]),
            Task::Copy(what) => ours(copy::copy(world, what)?),
            Task::Set(what) => ours(copy::set(world, what)?),
            Task::Host(function, data) => Ok(vec![Work::Host(*function, *data)]),
            Task::Child(_, parts) => parts.works(world),
            Task::Empty | Task::Allocate(..) | Task::Conditional(..) => Ok(Vec::new()),
            Task::Wait(event) => {
                Ok(vec![Work::Wait(*event, super::driver_state::known(&world.events, *event)?.recorded)])
            }
            Task::Record(handle) => {
                let event = known_mut(&mut world.events, *handle)?;
                event.recorded += 1;
                event.captured = None;
                Ok(vec![Work::Record(*handle, event.recorded)])
            }
            Task::Free(address) => {
                let address = *address;
                Ok(vec![Work::Ours(Box::new(move || destroy::finish_in_turn(address)))])
            }
            Task::Values(operations) => Ok(operations.iter().map(Operation::work).collect()),
        }
    }
}

/// A launch keeps the memory of its graph until it is over, even if the program destroys graph and executable before:
/// the last of its operations lets go of it.
fn let_go(held: Vec<u64>) -> Option<Work> {
    (!held.is_empty())
        .then(|| Work::Ours(Box::new(move || destroy::let_go(&mut super::driver_state::driver_state(), &held))))
}

/// Does a task in a stream's order, or keeps it if the stream is captured. `wait` for the calls that are over when the
/// task is.
pub fn put(mut world: Guard, stream: Handle, task: Task, wait: bool) -> Answer {
    if capture::take(&mut world, stream, &task, wait)? {
        return Ok(());
    }
    let wait = wait || matches!(&task, Task::Copy(what) if copy::has_to_wait(&world, what));
    let memory = if let Task::Child(_, parts) = &task { Some(destroy::Change::of(&world, parts)?) } else { None };
    let mut works = task.works(&mut world)?;
    works.extend(memory.and_then(|change| let_go(change.make(&mut world))));
    match (works.len(), wait) {
        (0, _) => Ok(()),
        (1, true) => engine::run(world, stream, works.remove(0)),
        (1, false) => engine::submit(world, stream, works.remove(0)),
        _ => engine::submit_all(world, stream, works),
    }
}
