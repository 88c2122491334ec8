//! Memory of graphs: nodes that allocate and free, and the bytes that a device holds for graphs.

use crate::abi::{Fault, In, Out, answer};
use crate::api::graph_edges::edges;
use crate::api::graph_params::Memory;
use crate::driver::device::device;
use crate::driver::{destroy, graph};
use crate::engine::refused;
use crate::state::{Handle, Kind, Task, driver_state};

pub extern "C" fn cuGraphAddMemAllocNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: Out<Memory>,
) -> u32 {
    answer(|| {
        node.check()?;
        let mut state = driver_state();
        state.graph.lookup_graph(graph)?;
        let after = edges(after, In::at(0), count)?;
        let mut memory = params.get()?;
        let task = memory.task(&mut state)?;
        params.put(memory)?;
        node.put(graph::add(&mut state, graph, after, task)?)
    })
}

pub extern "C" fn cuGraphMemAllocNodeGetParams(node: Handle, out: Out<Memory>) -> u32 {
    answer(|| {
        let state = driver_state();
        match state.graph.lookup_node(node)?.task {
            Task::Allocate(address, size) => {
                let device = state.memory.allocations.get(&address).map_or(0, |a| a.device);
                out.put(Memory::of(device, address, size))
            }
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuGraphAddMemFreeNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    address: u64,
) -> u32 {
    answer(|| {
        node.check()?;
        let mut state = driver_state();
        state.graph.lookup_graph(graph)?;
        destroy::may_free(&state, graph, address)?;
        let after = edges(after, In::at(0), count)?;
        node.put(graph::add(&mut state, graph, after, Task::Free(address))?)
    })
}

pub extern "C" fn cuGraphMemFreeNodeGetParams(node: Handle, address: Out<u64>) -> u32 {
    answer(|| match driver_state().graph.lookup_node(node)?.task {
        Task::Free(freed) => address.put(freed),
        _ => Err(Fault::INVALID_VALUE),
    })
}

/// Attributes 0 to 3: bytes in use and held, each now and at most. This driver reports the memory that launches have
/// allocated: a node alone has an address and no memory.
pub extern "C" fn cuDeviceGetGraphMemAttribute(ordinal: i32, id: u32, value: Out<u64>) -> u32 {
    answer(|| {
        let ordinal = device(ordinal)?;
        if id > 3 {
            return Err(Fault::INVALID_VALUE);
        }
        let state = driver_state();
        let memory = &state.memory;
        let is_allocated = |address: &u64| memory.of_graphs.get(address).is_some_and(|of| of.allocated);
        let of_graphs = memory.allocations.iter().filter(|(_, a)| a.kind == Kind::Graph && a.device == ordinal);
        value.check()?.put(of_graphs.filter(|(address, _)| is_allocated(address)).map(|(_, a)| a.size).sum())
    })
}

/// Only the two maxima can be set, and only to 0.
pub extern "C" fn cuDeviceSetGraphMemAttribute(ordinal: i32, id: u32, value: In<u64>) -> u32 {
    answer(|| match (device(ordinal)?, id, value.get()?) {
        (_, 1 | 3, 0) => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    })
}

pub extern "C" fn cuDeviceGraphMemTrim(ordinal: i32) -> u32 {
    answer(|| device(ordinal).map(drop))
}

/// A handle for a conditional node. Flag 1: each launch starts with the default value.
pub extern "C" fn cuGraphConditionalHandleCreate(
    handle: Out<Handle>,
    graph: Handle,
    _context: Handle,
    _start: u32,
    flags: u32,
) -> u32 {
    answer(|| {
        refused::on_gpus("cuGraphConditionalHandleCreate")?;
        handle.check()?;
        let mut state = driver_state();
        state.graph.lookup_graph(graph)?;
        if flags > 1 {
            return Err(Fault::INVALID_VALUE);
        }
        handle.put(state.new_handle())
    })
}
