//! Allocations: new ones, registered memory of the program, and their release. Device memory is host memory in a window
//! of addresses for each device, far from where programs and libraries are mapped. Pages appear on first use.

use super::current;
use crate::abi::{Answer, Fault};
use crate::host::pages::{self, PAGE, READ_WRITE, Refused};
use crate::state::{Allocation, DriverState, Handle, Kind};
use cutap_machine::config;
use std::sync::atomic::{AtomicU64, Ordering};

const WINDOW: u64 = 0x2000_0000_0000;
const WINDOW_SIZE: u64 = 0x100_0000_0000;

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
        map_in_window(state, allocation.device, allocation.pages())?
    } else if allocation.on_device() {
        let used = state.memory.used.get(&allocation.device).copied().unwrap_or(0);
        let free = config().memory.saturating_sub(used);
        if allocation.size > free || allocation.pages() > free {
            return Err(Fault::OUT_OF_MEMORY);
        }
        let address = map_in_window(state, allocation.device, allocation.pages())?;
        *state.memory.used.entry(allocation.device).or_default() += allocation.pages();
        address
    } else {
        pages::map(0, allocation.pages(), READ_WRITE).map_err(|_| Fault::OUT_OF_MEMORY)?
    };
    state.memory.allocations.insert(address, allocation);
    Ok(address)
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
    if let Some(hint) = HINTS.get(allocation.device as usize).filter(|_| allocation.on_device()) {
        hint.fetch_min(address, Ordering::Relaxed);
    }
    if !matches!(allocation.kind, Kind::Registered(_)) {
        // SAFETY: `pages::map` mapped these pages for this allocation, which is no longer in the table.
        unsafe { pages::unmap(address, allocation.pages()) };
    }
}

/// Where the next search for free addresses begins, by device.
static HINTS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

fn map_in_window(state: &DriverState, device: i32, size: u64) -> Answer<u64> {
    let start = WINDOW + device as u64 * WINDOW_SIZE;
    let hint = HINTS.get(device as usize).ok_or(Fault::INVALID_DEVICE)?;
    let mut at = hint.load(Ordering::Relaxed).max(start + 0x200_0000);
    while at + size <= start + WINDOW_SIZE {
        match state.memory.allocations.range(..at + size).next_back() {
            Some((previous, allocation)) if previous + allocation.pages() > at => at = previous + allocation.pages(),
            _ => match pages::map(at, size, READ_WRITE) {
                Ok(address) => {
                    // A small allocation fills the gap that it is in. A large one may have skipped smaller gaps.
                    hint.fetch_max(if size <= PAGE { at + size } else { 0 }, Ordering::Relaxed);
                    return Ok(address);
                }
                Err(Refused::Occupied) => at += 0x20_0000,
                Err(Refused::NoRoom) => break,
            },
        }
    }
    Err(Fault::OUT_OF_MEMORY)
}
