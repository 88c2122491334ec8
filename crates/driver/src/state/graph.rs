//! Graphs, their nodes, executables, and user objects, which graphs hold.

use super::capture::{Capture, Edge};
use super::handle::Handle;
use super::host_function::{Data, HostFunction};
use super::task::{Part, Parts, Task};
use crate::abi::{Answer, Fault};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
pub struct GraphState {
    pub graphs: BTreeMap<Handle, Graph>,
    pub nodes: BTreeMap<Handle, Node>,
    pub executables: BTreeMap<Handle, Executable>,
    pub captures: BTreeMap<u64, Capture>,
    pub user_objects: BTreeMap<Handle, UserObject>,
    /// Destructors of user objects without references, which the driver still has to call.
    pub destructors: Vec<(HostFunction, Data)>,
}

#[derive(Default)]
pub struct Graph {
    /// In the order of their creation.
    pub nodes: Vec<Handle>,
    /// The graph that this is a copy of.
    pub origin: Handle,
    /// It belongs to a node or to a capture, so that the program cannot destroy it.
    pub owned: bool,
    pub id: u32,
    /// User objects, and the number of references that the graph holds.
    pub objects: BTreeMap<Handle, u32>,
    /// Number of nodes that were ever added.
    pub added: u32,
}

pub struct Node {
    pub graph: Handle,
    pub task: Task,
    pub after: Vec<Edge>,
    /// The node that this is a copy of.
    pub origin: Handle,
    /// Its number in its graph.
    pub number: u32,
}

/// A graph that was made ready to launch.
pub struct Executable {
    pub flags: u64,
    /// A launch that is being prepared refers to them too.
    pub parts: Arc<Parts>,
    pub id: u32,
}

impl Executable {
    /// The part of a node, for a change.
    pub fn part(&mut self, node: Handle) -> Option<&mut Part> {
        Arc::make_mut(&mut self.parts).find(node)
    }
}

/// Data of the program that lives while a graph needs it, and its destructor.
pub struct UserObject {
    pub data: Data,
    pub destructor: HostFunction,
    pub references: u32,
}

impl GraphState {
    /// INVALID_VALUE for an unknown graph.
    pub fn lookup_graph(&self, graph: Handle) -> Answer<&Graph> {
        self.graphs.get(&graph).ok_or(Fault::INVALID_VALUE)
    }

    /// INVALID_VALUE for an unknown node.
    pub fn lookup_node(&self, node: Handle) -> Answer<&Node> {
        self.nodes.get(&node).ok_or(Fault::INVALID_VALUE)
    }
}
