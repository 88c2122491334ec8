//! Graphs: nodes and edges are added, copied and removed, and a graph is made ready to launch. It must not launch one.

use super::{capture_status, destroy, user_object};
use crate::abi::{Answer, Fault};
use crate::state::{DriverState, Edge, Graph, Handle, Node, Part, Parts, Task, lookup, lookup_mut};
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn create(state: &mut DriverState) -> Handle {
    let handle = state.new_handle();
    let id = state.next_order() as u32;
    state.graph.graphs.insert(handle, Graph { id, ..Graph::default() });
    handle
}

/// Adds a node after others of the same graph.
pub fn add(state: &mut DriverState, graph: Handle, after: Vec<Edge>, task: Task) -> Answer<Handle> {
    state.graph.lookup_graph(graph)?;
    if after.iter().enumerate().any(|(n, e)| after[..n].iter().any(|earlier| earlier.from == e.from)) {
        return Err(Fault::INVALID_VALUE);
    }
    if after.iter().any(|e| state.graph.nodes.get(&e.from).is_none_or(|n| n.graph != graph)) {
        return Err(Fault::INVALID_VALUE);
    }
    let node = state.new_handle();
    let home = lookup_mut(&mut state.graph.graphs, graph)?;
    home.added += 1;
    let number = home.added - 1;
    home.nodes.push(node);
    state.graph.nodes.insert(node, Node { graph, task, after, origin: Handle::NULL, number });
    Ok(node)
}

/// The nodes of a graph in an order that respects the edges. INVALID_VALUE for a cycle.
pub fn in_order(state: &DriverState, graph: Handle) -> Answer<Vec<Handle>> {
    let mut unordered: Vec<Handle> = state.graph.lookup_graph(graph)?.nodes.clone();
    let mut order: Vec<Handle> = Vec::with_capacity(unordered.len());
    while !unordered.is_empty() {
        let ready = |node: &Handle| state.graph.nodes[node].after.iter().all(|e| order.contains(&e.from));
        let (now, later): (Vec<_>, Vec<_>) = unordered.into_iter().partition(ready);
        if now.is_empty() {
            return Err(Fault::INVALID_VALUE);
        }
        order.extend(now);
        unordered = later;
    }
    Ok(order)
}

/// Copies a graph with its nodes and the graphs that they own.
pub fn duplicate(state: &mut DriverState, graph: Handle) -> Answer<Handle> {
    let order = in_order(state, graph)?;
    if order.iter().any(|n| matches!(state.graph.nodes[n].task, Task::Allocate(..) | Task::Free(_))) {
        return Err(Fault::NOT_SUPPORTED);
    }
    let clone = create(state);
    let mut copies: BTreeMap<Handle, Handle> = BTreeMap::new();
    for node in order {
        let (task, after) = (state.graph.nodes[&node].task.clone(), state.graph.nodes[&node].after.clone());
        let task = match task {
            Task::Child(child, _) => owned_copy(state, child)?,
            task => task,
        };
        let after = after.iter().map(|e| Edge { from: copies[&e.from], data: e.data }).collect();
        let copy = add(state, clone, after, task)?;
        // A copy has the number of its node, whatever the order of copying.
        let number = state.graph.nodes[&node].number;
        let copied = lookup_mut(&mut state.graph.nodes, copy)?;
        (copied.origin, copied.number) = (node, number);
        copies.insert(node, copy);
    }
    let added = state.graph.lookup_graph(graph)?.added;
    let copied = lookup_mut(&mut state.graph.graphs, clone)?;
    (copied.origin, copied.added) = (graph, added);
    Ok(clone)
}

/// The task of a node that owns a copy of a graph.
pub fn owned_copy(state: &mut DriverState, graph: Handle) -> Answer<Task> {
    let copy = duplicate(state, graph)?;
    lookup_mut(&mut state.graph.graphs, copy)?.owned = true;
    Ok(Task::Child(copy, Arc::default()))
}

pub fn remove_node(state: &mut DriverState, node: Handle) -> Answer {
    let removed = state.graph.nodes.remove(&node).ok_or(Fault::INVALID_VALUE)?;
    if let Some(graph) = state.graph.graphs.get_mut(&removed.graph) {
        graph.nodes.retain(|n| *n != node);
        let rest = graph.nodes.clone();
        for sibling in rest {
            lookup_mut(&mut state.graph.nodes, sibling)?.after.retain(|e| e.from != node);
        }
    }
    forget(state, &removed.task);
    Ok(())
}

/// Destroys the graphs and releases the memory that a task owned.
fn forget(state: &mut DriverState, task: &Task) {
    match task {
        Task::Child(graph, _) => {
            let _ = destroy(state, *graph);
        }
        Task::Conditional(bodies) => bodies.iter().for_each(|g| {
            let _ = destroy(state, *g);
        }),
        Task::Allocate(address, _) => destroy::release(state, &[*address]),
        _ => {}
    }
}

pub fn destroy(state: &mut DriverState, graph: Handle) -> Answer {
    let removed = state.graph.graphs.remove(&graph).ok_or(Fault::INVALID_VALUE)?;
    for node in removed.nodes {
        if let Some(node) = state.graph.nodes.remove(&node) {
            forget(state, &node.task);
        }
    }
    for (object, count) in removed.objects {
        user_object::release(state, object, count);
    }
    capture_status::forget_graph(state, graph);
    Ok(())
}

/// The parts of a graph that is made ready to launch.
pub fn parts(state: &DriverState, graph: Handle) -> Answer<Parts> {
    let order = in_order(state, graph)?;
    let mut all = Vec::with_capacity(order.len());
    for handle in &order {
        let node = lookup(&state.graph.nodes, *handle)?;
        let task = match &node.task {
            Task::Child(child, _) => Task::Child(*child, Arc::new(parts(state, *child)?)),
            task => task.clone(),
        };
        let index = |e: &Edge| order.iter().position(|n| *n == e.from);
        let mut after: Vec<usize> = node.after.iter().filter_map(index).collect();
        after.sort_unstable();
        all.push(Part { node: *handle, task, enabled: true, after, number: node.number });
    }
    Ok(Parts(all))
}
