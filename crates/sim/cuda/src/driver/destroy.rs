//! How memory ends. Memory of a pool goes once, and is spoken for as soon as a free of it is asked for, whenever the
//! stream comes to it. Memory of a graph has its address from its node on; it is *there* from the launch that
//! allocates it to what frees it, and nothing frees it when it is not there. Its pages stay as long as it is there, or
//! a graph, an executable or a launch under way may need them.

use super::allocation::{self, Allocation, Kind};
use super::driver_state::{DriverState, Handle, driver_state};
use super::fault::{Answer, Fault};
use super::graph::{Parts, known_graph};
use super::task::Task;

/// Memory of a graph.
pub struct OfGraph {
    /// Graphs, executables, launches and frees under way.
    holders: u32,
    there: bool,
}

/// Memory for a node of a graph: set aside now, so that its address is known.
pub fn for_graph(world: &mut DriverState, device: i32, context: Handle, size: u64) -> Answer<Task> {
    let made = Allocation { size, kind: Kind::Graph, device, context, id: 0, pool: Handle::NULL };
    let address = allocation::allocate_for(world, made)?;
    world.graph_memory.insert(address, OfGraph { holders: 1, there: false });
    Ok(Task::Allocate(address, size))
}

/// One more that needs memory of a graph.
pub fn hold(world: &mut DriverState, addresses: &[u64]) {
    for address in addresses {
        if let Some(memory) = world.graph_memory.get_mut(address) {
            memory.holders += 1;
        }
    }
}

/// One less that needs memory of a graph.
pub fn let_go(world: &mut DriverState, addresses: &[u64]) {
    for address in addresses {
        let Some(memory) = world.graph_memory.get_mut(address) else { continue };
        memory.holders = memory.holders.saturating_sub(1);
        if memory.holders == 0 && !memory.there {
            allocation::release(world, *address);
        }
    }
}

/// A free is asked for: nobody else may ask for it from now on.
pub fn begin(world: &mut DriverState, address: u64) -> Answer {
    match world.graph_memory.get_mut(&address) {
        Some(memory) if memory.there => {
            memory.there = false;
            memory.holders += 1;
            Ok(())
        }
        None if world.allocations.contains_key(&address) && world.ending.insert(address) => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    }
}

/// It was not to be.
pub fn cancel(world: &mut DriverState, address: u64) {
    world.ending.remove(&address);
    if let Some(memory) = world.graph_memory.get_mut(&address) {
        memory.there = true;
        memory.holders = memory.holders.saturating_sub(1);
    }
}

/// In its turn: memory of a graph loses a holder, all else goes, unless it went with its context before.
pub fn finish(world: &mut DriverState, address: u64) {
    if world.ending.contains(&address) {
        allocation::release(world, address);
    } else {
        let_go(world, &[address]);
    }
}

/// The same for the operation of a stream.
pub fn finish_in_turn(address: u64) {
    finish(&mut driver_state(), address);
}

/// Whether a node of this graph may free an address: memory of a graph, that none of its nodes frees already, and not
/// its own once it was made ready to launch.
pub fn may_free(world: &DriverState, graph: Handle, address: u64) -> Answer {
    if !world.graph_memory.contains_key(&address) {
        return Err(Fault::INVALID_VALUE);
    }
    let mut tasks = known_graph(world, graph)?.nodes.iter().filter_map(|n| world.nodes.get(n)).map(|n| &n.task);
    let is_in_the_way = |task: &Task| match task {
        Task::Free(other) => *other == address,
        Task::Allocate(own, _) => *own == address && is_ready_to_launch(world, address),
        _ => false,
    };
    if tasks.any(is_in_the_way) { Err(Fault::INVALID_VALUE) } else { Ok(()) }
}

/// Whether an executable allocates this memory.
pub fn is_ready_to_launch(world: &DriverState, address: u64) -> bool {
    world.executables.values().any(|e| e.parts.allocated().contains(&address))
}

/// What a launch does to memory of graphs.
pub struct Change {
    allocated: Vec<u64>,
    freed: Vec<u64>,
}

impl Change {
    /// INVALID_VALUE if it would allocate what is there, or free what is not.
    pub fn of(world: &DriverState, parts: &Parts) -> Answer<Self> {
        let (allocated, freed) = (parts.allocated(), parts.freed());
        let there = |address: &u64| world.graph_memory.get(address).is_some_and(|m| m.there);
        if allocated.iter().any(there) || freed.iter().any(|f| !allocated.contains(f) && !there(f)) {
            return Err(Fault::INVALID_VALUE);
        }
        Ok(Change { allocated, freed })
    }

    /// Makes it so; what the launch holds until it is over.
    pub fn make(self, world: &mut DriverState) -> Vec<u64> {
        let held = [self.allocated.clone(), self.freed.clone()].concat();
        hold(world, &held);
        set_there(world, &self.allocated, true);
        set_there(world, &self.freed, false);
        held
    }
}

/// For executables that free before a launch what was not freed since the last one.
pub fn free_at_launch(world: &mut DriverState, parts: &Parts) {
    set_there(world, &parts.allocated(), false);
}

fn set_there(world: &mut DriverState, addresses: &[u64], there: bool) {
    for address in addresses {
        if let Some(memory) = world.graph_memory.get_mut(address) {
            memory.there = there;
        }
    }
}
