//! Memory of graphs: nodes that allocate and free, and how much a device holds for them.

use crate::api::graph_edges::edges;
use crate::api::graph_params::Memory;
use crate::driver::abi::{In, Out, answer};
use crate::driver::allocation::Kind;
use crate::driver::context::device;
use crate::driver::destroy;
use crate::driver::driver_state::{Handle, driver_state};
use crate::driver::fault::Fault;
use crate::driver::graph::{self, known_graph, known_node};
use crate::driver::task::Task;

pub extern "C" fn cuGraphAddMemAllocNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    what: Out<Memory>,
) -> u32 {
    answer(|| {
        found.check()?;
        let mut world = driver_state();
        known_graph(&world, graph)?;
        let after = edges(after, In::at(0), count)?;
        let mut memory = what.get()?;
        let task = memory.task(&mut world)?;
        what.put(memory)?;
        found.put(graph::add(&mut world, graph, after, task)?)
    })
}

pub extern "C" fn cuGraphMemAllocNodeGetParams(node: Handle, out: Out<Memory>) -> u32 {
    answer(|| {
        let world = driver_state();
        match known_node(&world, node)?.task {
            Task::Allocate(address, size) => {
                let device = world.allocations.get(&address).map_or(0, |a| a.device);
                out.put(Memory::of(device, address, size))
            }
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuGraphAddMemFreeNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    address: u64,
) -> u32 {
    answer(|| {
        found.check()?;
        let mut world = driver_state();
        known_graph(&world, graph)?;
        destroy::may_free(&world, graph, address)?;
        let after = edges(after, In::at(0), count)?;
        found.put(graph::add(&mut world, graph, after, Task::Free(address))?)
    })
}

pub extern "C" fn cuGraphMemFreeNodeGetParams(node: Handle, address: Out<u64>) -> u32 {
    answer(|| match known_node(&driver_state(), node)?.task {
        Task::Free(freed) => address.put(freed),
        _ => Err(Fault::INVALID_VALUE),
    })
}

/// 0 to 3: bytes in use, at most in use, held, at most held; here all that graphs set aside.
pub extern "C" fn cuDeviceGetGraphMemAttribute(ordinal: i32, id: u32, value: Out<u64>) -> u32 {
    answer(|| {
        let ordinal = device(ordinal)?;
        if id > 3 {
            return Err(Fault::INVALID_VALUE);
        }
        let world = driver_state();
        let of_graphs = world.allocations.values().filter(|a| a.kind == Kind::Graph && a.device == ordinal);
        value.check()?.put(of_graphs.map(|a| a.size).sum())
    })
}

/// Only the two high marks can be set, and only to 0.
pub extern "C" fn cuDeviceSetGraphMemAttribute(ordinal: i32, id: u32, value: In<u64>) -> u32 {
    answer(|| match (device(ordinal)?, id, value.get()?) {
        (_, 1 | 3, 0) => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    })
}

pub extern "C" fn cuDeviceGraphMemTrim(ordinal: i32) -> u32 {
    answer(|| device(ordinal).map(drop))
}

/// A handle of a conditional node. Flags: 1, the value that each launch begins with.
pub extern "C" fn cuGraphConditionalHandleCreate(
    found: Out<Handle>,
    graph: Handle,
    _context: Handle,
    _start: u32,
    flags: u32,
) -> u32 {
    answer(|| {
        found.check()?;
        let mut world = driver_state();
        known_graph(&world, graph)?;
        if flags > 1 {
            return Err(Fault::INVALID_VALUE);
        }
        found.put(world.new_handle())
    })
}
