//! Allocations: new ones, registered memory of the program, and their release.

use super::{current, device};
use crate::abi::{Answer, Fault};
use crate::engine::{Place, Space, machine};
use crate::host::pages;
use crate::state::{Allocation, DriverState, Handle, Kind};

/// The address space of a device that exists.
pub fn space(ordinal: i32) -> Answer<&'static dyn Space> {
    machine().space(device::number(ordinal))
}

/// A new allocation in the current context.
pub fn allocate(state: &mut DriverState, kind: Kind, size: u64) -> Answer<u64> {
    let context = current::require(state)?;
    let device = state.context.contexts[&context].device;
    allocate_for(state, Allocation { size, kind, device, context, id: 0, pool: Handle::NULL })
}

/// A new allocation from a description; its id is set here.
pub fn allocate_for(state: &mut DriverState, mut allocation: Allocation) -> Answer<u64> {
    if allocation.size == 0 {
        return Err(Fault::INVALID_VALUE);
    }
    allocation.id = state.next_order();
    let address = if allocation.pool != Handle::NULL {
        // The pool has counted the bytes already.
        map(&allocation)?
    } else if allocation.on_device() {
        let used = state.memory.used.get(&allocation.device).copied().unwrap_or(0);
        let free = device::memory(allocation.device).saturating_sub(used);
        // A GPU knows better what it has left.
        if !machine().runs_kernels() && (allocation.size > free || allocation.pages() > free) {
            return Err(Fault::OUT_OF_MEMORY);
        }
        let address = map(&allocation)?;
        *state.memory.used.entry(allocation.device).or_default() += allocation.pages();
        address
    } else {
        map(&allocation)?
    };
    state.memory.allocations.insert(address, allocation);
    Ok(address)
}

fn map(allocation: &Allocation) -> Answer<u64> {
    let place = match allocation.kind {
        Kind::Device | Kind::Graph | Kind::Mapped => Place::Device,
        Kind::Managed => Place::Managed,
        Kind::Host(_) | Kind::Registered(_) => Place::Host,
    };
    space(allocation.device)?.allocate(place, allocation.size)
}

/// Registers memory of the program.
pub fn register(state: &mut DriverState, address: u64, size: u64, flags: u32) -> Answer {
    let context = current::require(state)?;
    let device = state.context.contexts[&context].device;
    let end = address.checked_add(size).ok_or(Fault::INVALID_VALUE)?;
    if address == 0 || size == 0 {
        return Err(Fault::INVALID_VALUE);
    }
    let last = state.memory.allocations.range(..end).next_back();
    match last.filter(|(start, a)| *start + a.size > address) {
        Some((_, Allocation { kind: Kind::Registered(_), .. })) => return Err(Fault::HOST_MEMORY_ALREADY_REGISTERED),
        Some(_) => return Err(Fault::INVALID_VALUE),
        None if !pages::is_mapped(address, end) => return Err(Fault::INVALID_VALUE),
        None => {}
    }
    space(device)?.register(address, size)?;
    let id = state.next_order();
    let kind = Kind::Registered(flags);
    state.memory.allocations.insert(address, Allocation { size, kind, device, context, id, pool: Handle::NULL });
    Ok(())
}

/// Removes an allocation and unmaps its pages.
pub fn release(state: &mut DriverState, address: u64) {
    let memory = &mut state.memory;
    memory.ending.remove(&address);
    let Some(allocation) = memory.allocations.remove(&address) else { return };
    memory.advice.remove(&address);
    memory.of_graphs.remove(&address);
    if let Some(pool) = memory.pools.get_mut(&allocation.pool) {
        pool.give(allocation.size);
    } else if allocation.on_device() {
        let used = memory.used.entry(allocation.device).or_default();
        *used = used.saturating_sub(allocation.pages());
    }
    if let Ok(space) = space(allocation.device) {
        match allocation.kind {
            Kind::Registered(_) => space.unregister(address),
            _ => space.release(address, allocation.size),
        }
    }
}
