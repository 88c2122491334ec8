//! Edges of graphs, and lists of nodes.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::state::{DriverState, Edge, Handle, Task, driver_state, lookup_mut};

/// A list of nodes, with optional data of the edges from them.
pub fn edges(nodes: In<Handle>, data: In<[u8; 8]>, count: usize) -> Answer<Vec<Edge>> {
    nodes.check_count(count)?;
    let data_at = |n| if data.is_null() { Ok([0; 8]) } else { data.get_at(n) };
    (0..count).map(|n| Ok(Edge { from: nodes.get_at(n)?, data: data_at(n)? })).collect()
}

/// Writes a list as CUDA does. Without an array it writes only the length. Otherwise it writes as many elements as
/// fit, fills the rest with zeros, and sets the length to the number of elements.
fn list<T: Copy>(all: &[T], room: Out<T>, count: Out<usize>, empty: T) -> Answer {
    count.check()?;
    if room.is_null() {
        return count.put(all.len());
    }
    let places = count.get()?;
    room.check_room(places)?;
    for n in 0..places {
        room.put_at(n, all.get(n).copied().unwrap_or(empty))?;
    }
    count.put(all.len().min(places))
}

pub extern "C" fn cuGraphGetNodes(graph: Handle, room: Out<Handle>, count: Out<usize>) -> u32 {
    answer(|| list(&driver_state().graph.lookup_graph(graph)?.nodes, room, count, Handle::NULL))
}

pub extern "C" fn cuGraphGetRootNodes(graph: Handle, room: Out<Handle>, count: Out<usize>) -> u32 {
    answer(|| {
        let state = driver_state();
        let nodes = state.graph.lookup_graph(graph)?.nodes.iter();
        let roots: Vec<Handle> = nodes.filter(|n| state.graph.nodes[n].after.is_empty()).copied().collect();
        list(&roots, room, count, Handle::NULL)
    })
}

pub extern "C" fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> u32 {
    cuGraphGetEdges_v2(graph, from, to, Out::at(0), count)
}

pub extern "C" fn cuGraphGetEdges_v2(
    graph: Handle,
    from: Out<Handle>,
    to: Out<Handle>,
    data: Out<[u8; 8]>,
    count: Out<usize>,
) -> u32 {
    answer(|| {
        let state = driver_state();
        let nodes = state.graph.lookup_graph(graph)?.nodes.iter();
        let all: Vec<(Edge, Handle)> =
            nodes.flat_map(|n| state.graph.nodes[n].after.iter().map(|e| (*e, *n))).collect();
        if from.is_null() != to.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        let places = count.check()?.get()?;
        if !data.is_null() && !from.is_null() {
            all.iter().take(places).enumerate().try_for_each(|(n, (e, _))| data.put_at(n, e.data))?;
        }
        let (sources, targets): (Vec<Handle>, Vec<Handle>) = all.iter().map(|(e, to)| (e.from, *to)).unzip();
        list(&sources, from, count, Handle::NULL)?;
        if to.is_null() {
            return Ok(());
        }
        count.put(places)?;
        list(&targets, to, count, Handle::NULL)
    })
}

/// The neighbours of a node on one side, with data of the edges.
fn neighbours(all: &[Edge], room: Out<Handle>, data: Out<[u8; 8]>, count: Out<usize>) -> Answer {
    let places = count.check()?.get()?;
    if !data.is_null() && !room.is_null() {
        all.iter().take(places).enumerate().try_for_each(|(n, e)| data.put_at(n, e.data))?;
    }
    let nodes: Vec<Handle> = all.iter().map(|e| e.from).collect();
    list(&nodes, room, count, Handle::NULL)
}

pub extern "C" fn cuGraphNodeGetDependencies(node: Handle, room: Out<Handle>, count: Out<usize>) -> u32 {
    cuGraphNodeGetDependencies_v2(node, room, Out::at(0), count)
}

pub extern "C" fn cuGraphNodeGetDependencies_v2(
    node: Handle,
    room: Out<Handle>,
    data: Out<[u8; 8]>,
    count: Out<usize>,
) -> u32 {
    answer(|| neighbours(&driver_state().graph.lookup_node(node)?.after, room, data, count))
}

pub extern "C" fn cuGraphNodeGetDependentNodes(node: Handle, room: Out<Handle>, count: Out<usize>) -> u32 {
    cuGraphNodeGetDependentNodes_v2(node, room, Out::at(0), count)
}

pub extern "C" fn cuGraphNodeGetDependentNodes_v2(
    node: Handle,
    room: Out<Handle>,
    data: Out<[u8; 8]>,
    count: Out<usize>,
) -> u32 {
    answer(|| {
        let state = driver_state();
        let graph = state.graph.lookup_node(node)?.graph;
        let edge_to = |n: &Handle| {
            let edge = state.graph.nodes[n].after.iter().find(|e| e.from == node)?;
            Some(Edge { from: *n, data: edge.data })
        };
        let dependents: Vec<Edge> = state.graph.lookup_graph(graph)?.nodes.iter().filter_map(edge_to).collect();
        neighbours(&dependents, room, data, count)
    })
}

/// The edges of a call. All must be between nodes of the graph.
fn named(
    state: &DriverState,
    graph: Handle,
    (from, to, data): (In<Handle>, In<Handle>, In<[u8; 8]>),
    count: usize,
) -> Answer<Vec<(Edge, Handle)>> {
    state.graph.lookup_graph(graph)?;
    let sources = edges(from, data, count)?;
    let targets = edges(to, In::at(0), count)?;
    let all: Vec<_> = sources.into_iter().zip(targets).map(|(e, to)| (e, to.from)).collect();
    let of_it = |node: &Handle| state.graph.nodes.get(node).is_some_and(|n| n.graph == graph);
    let good = all.iter().all(|(e, to)| of_it(&e.from) && of_it(to) && e.from != *to);
    if good { Ok(all) } else { Err(Fault::INVALID_VALUE) }
}

pub extern "C" fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) -> u32 {
    cuGraphAddDependencies_v2(graph, from, to, In::at(0), count)
}

pub extern "C" fn cuGraphAddDependencies_v2(
    graph: Handle,
    from: In<Handle>,
    to: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let all = named(&state, graph, (from, to, data), count)?;
        if all.iter().any(|(e, to)| state.graph.nodes[to].after.iter().any(|old| old.from == e.from)) {
            return Err(Fault::INVALID_VALUE);
        }
        // Instantiation finds cycles.
        let is_memory = |node| matches!(state.graph.nodes[node].task, Task::Allocate(..) | Task::Free(_));
        if all.iter().any(|(e, to)| is_memory(&e.from) || is_memory(to)) {
            return Err(Fault::NOT_SUPPORTED);
        }
        for (edge, to) in all {
            lookup_mut(&mut state.graph.nodes, to)?.after.push(edge);
        }
        Ok(())
    })
}

pub extern "C" fn cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) -> u32 {
    cuGraphRemoveDependencies_v2(graph, from, to, In::at(0), count)
}

pub extern "C" fn cuGraphRemoveDependencies_v2(
    graph: Handle,
    from: In<Handle>,
    to: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let all = named(&state, graph, (from, to, data), count)?;
        if !all.iter().all(|(e, to)| state.graph.nodes[to].after.iter().any(|old| old.from == e.from)) {
            return Err(Fault::INVALID_VALUE);
        }
        let is_memory = |node| matches!(state.graph.nodes[node].task, Task::Allocate(..) | Task::Free(_));
        if all.iter().any(|(e, to)| is_memory(&e.from) || is_memory(to)) {
            return Err(Fault::NOT_SUPPORTED);
        }
        for (edge, to) in all {
            lookup_mut(&mut state.graph.nodes, to)?.after.retain(|e| e.from != edge.from);
        }
        Ok(())
    })
}
