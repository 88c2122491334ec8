//! Graphs: nodes in an order that the program says; and what becomes of one when it is made ready to launch.

use super::driver_state::{DriverState, Handle, known, known_mut};
use super::fault::{Answer, Fault};
use super::stream::Work;
use super::task::Task;
use super::{capture, destroy};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What comes before a node, with CUgraphEdgeData.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: Handle,
    pub data: [u8; 8],
}

impl From<Handle> for Edge {
    fn from(from: Handle) -> Self {
        Edge { from, data: [0; 8] }
    }
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

#[derive(Default)]
pub struct Graph {
    /// In the order in which they were made.
    pub nodes: Vec<Handle>,
    /// The graph that this is a copy of.
    pub origin: Handle,
    /// It belongs to a node, or to a stream that is captured into it: not the program's to destroy.
    pub owned: bool,
    pub id: u32,
    /// User objects, and how many references it holds.
    pub objects: BTreeMap<Handle, u32>,
    made: u32,
}

/// One node of a graph that is ready to launch.
#[derive(Clone)]
pub struct Part {
    pub node: Handle,
    pub task: Task,
    pub enabled: bool,
    /// Places of those before it.
    after: Vec<usize>,
}

/// All of them, each behind those that it comes after.
#[derive(Clone, Default)]
pub struct Parts(pub Vec<Part>);

/// A graph made ready to launch.
pub struct Executable {
    pub flags: u64,
    pub parts: Parts,
    pub id: u32,
}

pub fn create(world: &mut DriverState) -> Handle {
    let made = world.new_handle();
    let id = world.next_order() as u32;
    world.graphs.insert(made, Graph { id, ..Graph::default() });
    made
}

/// A new node behind others of the same graph.
pub fn add(world: &mut DriverState, graph: Handle, after: Vec<Edge>, task: Task) -> Answer<Handle> {
    known_graph(world, graph)?;
    if after.iter().enumerate().any(|(n, e)| after[..n].iter().any(|other| other.from == e.from)) {
        return Err(Fault::INVALID_VALUE);
    }
    if after.iter().any(|e| world.nodes.get(&e.from).is_none_or(|n| n.graph != graph)) {
        return Err(Fault::INVALID_VALUE);
    }
    let made = world.new_handle();
    let home = known_mut(&mut world.graphs, graph)?;
    home.made += 1;
    let number = home.made - 1;
    home.nodes.push(made);
    world.nodes.insert(made, Node { graph, task, after, origin: Handle::NULL, number });
    Ok(made)
}

/// INVALID_VALUE for a graph that is not there.
pub fn known_graph(world: &DriverState, graph: Handle) -> Answer<&Graph> {
    world.graphs.get(&graph).ok_or(Fault::INVALID_VALUE)
}

/// INVALID_VALUE for a node that is not there.
pub fn known_node(world: &DriverState, node: Handle) -> Answer<&Node> {
    world.nodes.get(&node).ok_or(Fault::INVALID_VALUE)
}

/// The nodes of a graph, each behind those that it comes after; INVALID_VALUE for a circle.
pub fn in_order(world: &DriverState, graph: Handle) -> Answer<Vec<Handle>> {
    let mut left: Vec<Handle> = known_graph(world, graph)?.nodes.clone();
    let mut order: Vec<Handle> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let ready = |node: &Handle| world.nodes[node].after.iter().all(|e| order.contains(&e.from));
        let (now, later): (Vec<_>, Vec<_>) = left.into_iter().partition(ready);
        if now.is_empty() {
            return Err(Fault::INVALID_VALUE);
        }
        order.extend(now);
        left = later;
    }
    Ok(order)
}

/// A copy of a graph, its nodes and what belongs to them.
pub fn duplicate(world: &mut DriverState, graph: Handle) -> Answer<Handle> {
    let order = in_order(world, graph)?;
    if order.iter().any(|n| matches!(world.nodes[n].task, Task::Allocate(..) | Task::Free(_))) {
        return Err(Fault::NOT_SUPPORTED);
    }
    let made = create(world);
    let mut copies: BTreeMap<Handle, Handle> = BTreeMap::new();
    for node in order {
        let (task, after) = (world.nodes[&node].task.clone(), world.nodes[&node].after.clone());
        let task = match task {
            Task::Child(child, _) => owned_copy(world, child)?,
            other => other,
        };
        let after = after.iter().map(|e| Edge { from: copies[&e.from], data: e.data }).collect();
        let copy = add(world, made, after, task)?;
        known_mut(&mut world.nodes, copy)?.origin = node;
        copies.insert(node, copy);
    }
    known_mut(&mut world.graphs, made)?.origin = graph;
    Ok(made)
}

/// The task of a node that owns a copy of a graph.
pub fn owned_copy(world: &mut DriverState, graph: Handle) -> Answer<Task> {
    let copy = duplicate(world, graph)?;
    known_mut(&mut world.graphs, copy)?.owned = true;
    Ok(Task::Child(copy, Arc::default()))
}

pub fn remove_node(world: &mut DriverState, node: Handle) -> Answer {
    let gone = world.nodes.remove(&node).ok_or(Fault::INVALID_VALUE)?;
    if let Some(graph) = world.graphs.get_mut(&gone.graph) {
        graph.nodes.retain(|n| *n != node);
        let rest = graph.nodes.clone();
        for other in rest {
            known_mut(&mut world.nodes, other)?.after.retain(|e| e.from != node);
        }
    }
    forget(world, &gone.task);
    Ok(())
}

/// What a task owned goes with it.
fn forget(world: &mut DriverState, task: &Task) {
    match task {
        Task::Child(graph, _) => {
            let _ = destroy(world, *graph);
        }
        Task::Conditional(bodies) => bodies.iter().for_each(|g| {
            let _ = destroy(world, *g);
        }),
        Task::Allocate(address, _) => destroy::let_go(world, &[*address]),
        _ => {}
    }
}

pub fn destroy(world: &mut DriverState, graph: Handle) -> Answer {
    let gone = world.graphs.remove(&graph).ok_or(Fault::INVALID_VALUE)?;
    for node in gone.nodes {
        if let Some(node) = world.nodes.remove(&node) {
            forget(world, &node.task);
        }
    }
    for (object, count) in gone.objects {
        super::object::release(world, object, count);
    }
    capture::forget_graph(world, graph);
    Ok(())
}

impl Parts {
    pub fn of(world: &DriverState, graph: Handle) -> Answer<Self> {
        let order = in_order(world, graph)?;
        let mut parts = Vec::with_capacity(order.len());
        for handle in &order {
            let node = known(&world.nodes, *handle)?;
            let task = match &node.task {
                Task::Child(child, _) => Task::Child(*child, Arc::new(Parts::of(world, *child)?)),
                other => other.clone(),
            };
            let place = |e: &Edge| order.iter().position(|n| *n == e.from);
            let mut after: Vec<usize> = node.after.iter().filter_map(place).collect();
            after.sort_unstable();
            parts.push(Part { node: *handle, task, enabled: true, after });
        }
        Ok(Parts(parts))
    }

    /// The operations of one launch, in order.
    pub fn works(&self, world: &mut DriverState) -> Answer<Vec<Work>> {
        let mut works = Vec::new();
        // what a launch frees is seen to where it is put into its stream
        for part in self.0.iter().filter(|p| p.enabled && !matches!(p.task, Task::Free(_))) {
            works.extend(part.task.works(world)?);
        }
        Ok(works)
    }

    /// The part that came of a node, here or in a child.
    pub fn find(&mut self, node: Handle) -> Option<&mut Part> {
        if let Some(at) = self.0.iter().position(|p| p.node == node) {
            return self.0.get_mut(at);
        }
        self.0.iter_mut().find_map(|part| match &mut part.task {
            Task::Child(_, parts) => Arc::make_mut(parts).find(node),
            _ => None,
        })
    }

    /// Takes the tasks of another graph of the same form over; else says why not (CUgraphExecUpdateResult) and where.
    pub fn update(&mut self, other: Parts) -> Result<(), (u32, Handle)> {
        const TOPOLOGY_CHANGED: u32 = 2;
        const KIND_CHANGED: u32 = 3;
        if self.0.len() != other.0.len() {
            return Err((TOPOLOGY_CHANGED, Handle::NULL));
        }
        for (old, new) in self.0.iter().zip(&other.0) {
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
        for (old, new) in self.0.iter_mut().zip(other.0) {
            old.task = new.task;
        }
        Ok(())
    }

    /// A node that no kernel can launch: all but kernels, copies, sets and graphs of these.
    pub fn unfit_for_device(&self) -> Option<Handle> {
        self.0.iter().find_map(|part| match &part.task {
            Task::Kernel(_) | Task::Copy(_) | Task::Set(_) => None,
            Task::Child(_, parts) => parts.unfit_for_device(),
            _ => Some(part.node),
        })
    }

    /// Addresses of memory that launches allocate, here and in children.
    pub fn allocated(&self) -> Vec<u64> {
        let of = |part: &Part| match &part.task {
            Task::Allocate(address, _) => vec![*address],
            Task::Child(_, parts) => parts.allocated(),
            _ => Vec::new(),
        };
        self.0.iter().flat_map(of).collect()
    }

    /// Addresses of memory that launches free, here and in children.
    pub fn freed(&self) -> Vec<u64> {
        let of = |part: &Part| match &part.task {
            Task::Free(address) => vec![*address],
            Task::Child(_, parts) => parts.freed(),
            _ => Vec::new(),
        };
        self.0.iter().flat_map(of).collect()
    }
}
