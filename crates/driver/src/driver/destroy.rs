//! How memory ends.
//!
//! Memory of a pool and other plain memory ends once. As soon as a free is requested, no other free may be requested,
//! whenever the stream reaches it. Memory of a graph has its address from its node on. It is allocated by one launch
//! and freed by a later operation, any number of times; see [`GraphMemory`].

use super::allocation;
use crate::abi::{Answer, Fault};
use crate::state::{Allocation, DriverState, GraphMemory, Handle, Kind, Parts, Task};

/// Memory for a node of a graph. It is reserved now, so that its address is known.
pub fn for_graph(state: &mut DriverState, device: i32, context: Handle, size: u64) -> Answer<Task> {
    let allocation = Allocation { size, kind: Kind::Graph, device, context, id: 0, pool: Handle::NULL };
    let address = allocation::allocate_for(state, allocation)?;
    state.memory.of_graphs.insert(address, GraphMemory { holders: 1, allocated: false });
    Ok(Task::Allocate(address, size))
}

/// Adds a holder to memory of graphs.
pub fn hold(state: &mut DriverState, addresses: &[u64]) {
    for address in addresses {
        if let Some(memory) = state.memory.of_graphs.get_mut(address) {
            memory.holders += 1;
        }
    }
}

/// Removes a holder from memory of graphs. Memory without a holder ends unless it is allocated.
pub fn release(state: &mut DriverState, addresses: &[u64]) {
    for address in addresses {
        let Some(memory) = state.memory.of_graphs.get_mut(address) else { continue };
        memory.holders = memory.holders.saturating_sub(1);
        if memory.holders == 0 && !memory.allocated {
            allocation::release(state, *address);
        }
    }
}

/// A free is requested. INVALID_VALUE for memory that is free already, or for which a free was requested.
pub fn begin(state: &mut DriverState, address: u64) -> Answer {
    match state.memory.of_graphs.get_mut(&address) {
        Some(memory) if memory.allocated => {
            memory.allocated = false;
            memory.holders += 1;
            Ok(())
        }
        None if state.memory.allocations.contains_key(&address) && state.memory.ending.insert(address) => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    }
}

/// Undoes `begin`, when the free could not be put into its stream.
pub fn cancel(state: &mut DriverState, address: u64) {
    state.memory.ending.remove(&address);
    if let Some(memory) = state.memory.of_graphs.get_mut(&address) {
        memory.allocated = true;
        memory.holders = memory.holders.saturating_sub(1);
    }
}

/// The stream has reached a free: memory of a graph loses a holder, other memory ends. Memory that ended with its
/// context before is left alone.
pub fn finish(state: &mut DriverState, address: u64) {
    if state.memory.ending.contains(&address) {
        allocation::release(state, address);
    } else {
        release(state, &[address]);
    }
}

/// Whether a node of this graph may free an address. It must be memory of a graph. No other node of this graph may free
/// it, and the graph's own memory may not be in an executable.
pub fn may_free(state: &DriverState, graph: Handle, address: u64) -> Answer {
    if !state.memory.of_graphs.contains_key(&address) {
        return Err(Fault::INVALID_VALUE);
    }
    let nodes = state.graph.lookup_graph(graph)?.nodes.iter();
    let mut tasks = nodes.filter_map(|n| state.graph.nodes.get(n)).map(|n| &n.task);
    let is_in_the_way = |task: &Task| match task {
        Task::Free(freed) => *freed == address,
        Task::Allocate(own, _) => *own == address && is_ready_to_launch(state, address),
        _ => false,
    };
    if tasks.any(is_in_the_way) { Err(Fault::INVALID_VALUE) } else { Ok(()) }
}

/// Whether an executable allocates this memory.
pub fn is_ready_to_launch(state: &DriverState, address: u64) -> bool {
    state.graph.executables.values().any(|e| e.parts.allocated().contains(&address))
}

/// What a launch does to memory of graphs.
pub struct Change {
    allocated: Vec<u64>,
    freed: Vec<u64>,
}

impl Change {
    /// INVALID_VALUE if the launch would allocate memory twice, or free memory that is not allocated.
    pub fn of(state: &DriverState, parts: &Parts) -> Answer<Self> {
        let (allocated, freed) = (parts.allocated(), parts.freed());
        let is_allocated = |address: &u64| state.memory.of_graphs.get(address).is_some_and(|m| m.allocated);
        if allocated.iter().any(is_allocated) || freed.iter().any(|f| !allocated.contains(f) && !is_allocated(f)) {
            return Err(Fault::INVALID_VALUE);
        }
        Ok(Change { allocated, freed })
    }

    /// Applies the change. Returns the memory that the launch holds until it has completed.
    pub fn apply(self, state: &mut DriverState) -> Vec<u64> {
        let memory = [self.allocated.clone(), self.freed.clone()].concat();
        hold(state, &memory);
        set_allocated(state, &self.allocated, true);
        set_allocated(state, &self.freed, false);
        memory
    }
}

/// For executables that free, at a launch, the memory that is still allocated since the last launch.
pub fn free_at_launch(state: &mut DriverState, parts: &Parts) {
    set_allocated(state, &parts.allocated(), false);
}

fn set_allocated(state: &mut DriverState, addresses: &[u64], allocated: bool) {
    for address in addresses {
        if let Some(memory) = state.memory.of_graphs.get_mut(address) {
            memory.allocated = allocated;
        }
    }
}
