//! Tasks: what a program asks of a stream or of a node of a graph. `driver/lower.rs` turns a task into operations.

use super::handle::Handle;
use super::host_function::{Data, HostFunction};
use super::shape::{Copy3D, Set};
use crate::host::word::WordOperation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A launch of a kernel, as a node keeps it.
#[derive(Clone, Default)]
pub struct Launch {
    pub function: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub arguments: Option<Arc<Arguments>>,
    pub attributes: BTreeMap<u32, [u64; 8]>,
}

/// A copy of a kernel's arguments: the block, and a pointer to each argument in it.
pub struct Arguments {
    /// The memory that the pointers point to.
    pub block: Arc<[u8]>,
    pub pointers: Box<[u64]>,
}

#[derive(Clone)]
pub enum Task {
    Kernel(Box<Launch>),
    Copy(Box<Copy3D>),
    Set(Set),
    Host(HostFunction, Data),
    /// Another graph: the graph that a node owns, or the executable of a launch, and its parts once it is ready to
    /// launch.
    Child(Handle, Arc<Parts>),
    Empty,
    Wait(Handle),
    Record(Handle),
    /// Memory that was reserved when the node was made: address and size.
    Allocate(u64, u64),
    /// A free: of graph memory in a graph, of any memory in a stream.
    Free(u64),
    Values(Vec<WordOperation>),
    /// A conditional node with the graphs of its bodies. No body ever runs, because only a kernel can choose one.
    Conditional(Arc<[Handle]>),
}

impl Task {
    /// CUgraphNodeType
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
}

/// One node of a graph that is ready to launch.
#[derive(Clone)]
pub struct Part {
    pub node: Handle,
    pub task: Task,
    pub enabled: bool,
    /// Indices of the parts that come before it.
    pub after: Vec<usize>,
    /// The number of its node in the order of creation.
    pub number: u32,
}

/// All nodes of a graph that is ready to launch, in an order that respects their edges.
#[derive(Clone, Default)]
pub struct Parts(pub Vec<Part>);

impl Parts {
    /// The part of a node, here or in a child graph.
    pub fn find(&mut self, node: Handle) -> Option<&mut Part> {
        if let Some(at) = self.0.iter().position(|p| p.node == node) {
            return self.0.get_mut(at);
        }
        self.0.iter_mut().find_map(|part| match &mut part.task {
            Task::Child(_, parts) => Arc::make_mut(parts).find(node),
            _ => None,
        })
    }

    /// Takes over the tasks of a graph of the same form. For another form the error is a CUgraphExecUpdateResult and
    /// the node that differs.
    pub fn update(&mut self, replacement: Parts) -> Result<(), (u32, Handle)> {
        const TOPOLOGY_CHANGED: u32 = 2;
        const KIND_CHANGED: u32 = 3;
        if self.0.len() != replacement.0.len() {
            return Err((TOPOLOGY_CHANGED, Handle::NULL));
        }
        for (old, new) in self.0.iter().zip(&replacement.0) {
            if old.task.kind() != new.task.kind() {
                return Err((KIND_CHANGED, new.node));
            }
            if old.after != new.after {
                return Err((TOPOLOGY_CHANGED, new.node));
            }
            if let (Task::Child(_, old), Task::Child(_, new)) = (&old.task, &new.task) {
                Parts::clone(old).update(Parts::clone(new))?;
            }
        }
        for (old, new) in self.0.iter_mut().zip(replacement.0) {
            old.task = new.task;
        }
        Ok(())
    }

    /// The first node that a kernel cannot launch. It can launch kernels, copies, sets and graphs of these.
    pub fn unfit_for_device(&self) -> Option<Handle> {
        self.0.iter().find_map(|part| match &part.task {
            Task::Kernel(_) | Task::Copy(_) | Task::Set(_) => None,
            Task::Child(_, parts) => parts.unfit_for_device(),
            _ => Some(part.node),
        })
    }

    /// Addresses of memory that launches allocate, here and in child graphs.
    pub fn allocated(&self) -> Vec<u64> {
        let of = |part: &Part| match &part.task {
            Task::Allocate(address, _) => vec![*address],
            Task::Child(_, parts) => parts.allocated(),
            _ => Vec::new(),
        };
        self.0.iter().flat_map(of).collect()
    }

    /// Addresses of memory that launches free, here and in child graphs.
    pub fn freed(&self) -> Vec<u64> {
        let of = |part: &Part| match &part.task {
            Task::Free(address) => vec![*address],
            Task::Child(_, parts) => parts.freed(),
            _ => Vec::new(),
        };
        self.0.iter().flat_map(of).collect()
    }
}
