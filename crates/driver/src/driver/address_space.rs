//! Virtual memory management: pieces of memory without an address, reserved addresses without memory, and mappings. The
//! engine has the memory. Addresses are reserved in the process, for all devices.

use super::allocation::space;
use super::device::device;
use crate::abi::{Answer, Fault};
use crate::engine::{Access, machine, refused};
use crate::generated::limited;
use crate::host::pages::{self, NO_ACCESS, Refused};
use crate::state::{Allocation, DriverState, Handle, Kind, Mapping, Piece, Properties, driver_state};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// Sizes and offsets are multiples of this.
pub const GRANULE: u64 = 2 << 20;
/// The only kind of handle for other processes: a file descriptor.
pub const FILE: u32 = 1;
/// CU_MEM_LOCATION_TYPE_DEVICE.
const DEVICE: u32 = 1;

/// INVALID_VALUE unless the properties name an existing device or the host.
pub fn check(properties: &Properties) -> Answer {
    match (properties.kind, properties.place) {
        (1, DEVICE) => device(properties.id).map(drop),
        (1, 2..=4) => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    }
}

pub fn create(state: &mut DriverState, size: u64, properties: Properties) -> Answer<Handle> {
    check(&properties)?;
    if size == 0 || !size.is_multiple_of(GRANULE) {
        return Err(Fault::INVALID_VALUE);
    }
    if machine().runs_kernels() {
        refuse_on_gpus(&properties)?;
    }
    let used = state.memory.used.get(&properties.id).copied().unwrap_or(0);
    // A GPU knows better what it has left.
    if !machine().runs_kernels() && size > super::device::memory(properties.id).saturating_sub(used) {
        return Err(Fault::OUT_OF_MEMORY);
    }
    let memory = space(properties.id)?.piece(size, properties.handles & FILE != 0)?;
    *state.memory.used.entry(properties.id).or_default() += size;
    let handle = state.new_handle();
    state.reservation.pieces.insert(handle, Piece { properties, size, memory, references: 1 });
    Ok(handle)
}

/// Refuses memory that GPUs do not have here. A handle for another process is refused when it is asked for: programs
/// create all memory so that they may ask.
fn refuse_on_gpus(properties: &Properties) -> Answer {
    if properties.place != DEVICE {
        refused::on_gpus(limited::MEM_CREATE)?;
    }
    if properties.handles & !FILE != 0 {
        refused::on_gpus(limited::MEM_CREATE)?;
    }
    Ok(())
}

/// The piece of memory of a descriptor that `export` returned, perhaps in another process.
pub fn import(state: &mut DriverState, descriptor: i32) -> Answer<Handle> {
    let (memory, size) = space(0)?.import(descriptor)?;
    let properties = Properties { kind: 1, handles: FILE, place: DEVICE, ..Properties::default() };
    let handle = state.new_handle();
    *state.memory.used.entry(0).or_default() += size;
    state.reservation.pieces.insert(handle, Piece { properties, size, memory, references: 1 });
    Ok(handle)
}

/// A descriptor for another process.
pub fn export(state: &DriverState, memory: Handle, kind: u32) -> Answer<i32> {
    let memory = lookup(state, memory)?;
    match kind == FILE && memory.properties.handles & FILE != 0 {
        true => memory.memory.export(),
        false => Err(Fault::INVALID_VALUE),
    }
}

/// INVALID_VALUE for an unknown handle.
pub fn lookup(state: &DriverState, memory: Handle) -> Answer<&Piece> {
    state.reservation.pieces.get(&memory).filter(|m| m.references > 0).ok_or(Fault::INVALID_VALUE)
}

/// Adds a holder to the memory at an address.
pub fn retain(state: &mut DriverState, address: u64) -> Answer<Handle> {
    let (_, mapping) = state.reservation.mappings.range(..=address).next_back().ok_or(Fault::INVALID_VALUE)?;
    let (start, memory) = (state.reservation.mappings.range(..=address).next_back().map_or(0, |m| *m.0), mapping.piece);
    if address - start >= mapping.size {
        return Err(Fault::INVALID_VALUE);
    }
    state.reservation.pieces.get_mut(&memory).ok_or(Fault::INVALID_VALUE)?.references += 1;
    Ok(memory)
}

/// Removes a holder. The memory ends when it also has no mapping.
pub fn release(state: &mut DriverState, memory: Handle) -> Answer {
    lookup(state, memory)?;
    if let Some(piece) = state.reservation.pieces.get_mut(&memory) {
        piece.references -= 1;
    }
    forget(state, memory);
    Ok(())
}

fn forget(state: &mut DriverState, handle: Handle) {
    let mapped = state.reservation.mappings.values().any(|m| m.piece == handle);
    if mapped || state.reservation.pieces.get(&handle).is_none_or(|m| m.references > 0) {
        return;
    }
    let Some(piece) = state.reservation.pieces.remove(&handle) else { return };
    let used = state.memory.used.entry(piece.properties.id).or_default();
    *used = used.saturating_sub(piece.size);
}

/// Reserves addresses without memory, at `hint` if that is free.
pub fn reserve(state: &mut DriverState, size: u64, alignment: u64, hint: u64) -> Answer<u64> {
    const FIRST: u64 = 0x2800_0000_0000;
    const END: u64 = 0x3f00_0000_0000;
    static NEXT: AtomicU64 = AtomicU64::new(FIRST);
    let aligned = alignment == 0 || alignment.is_power_of_two();
    if size == 0 || !size.is_multiple_of(GRANULE) || !aligned || size > END - FIRST {
        return Err(Fault::INVALID_VALUE);
    }
    let alignment = alignment.max(GRANULE);
    let map = |at| pages::map(at, size, NO_ACCESS);
    if hint != 0 && hint.is_multiple_of(alignment) && map(hint).is_ok() {
        state.reservation.reserved.insert(hint, size);
        return Ok(hint);
    }
    loop {
        let start = NEXT.fetch_add(size + alignment, Ordering::Relaxed).next_multiple_of(alignment);
        if start + size > END {
            return Err(Fault::OUT_OF_MEMORY);
        }
        match map(start) {
            Ok(_) => {
                state.reservation.reserved.insert(start, size);
                return Ok(start);
            }
            Err(Refused::Occupied) => {}
            Err(Refused::NoRoom) => return Err(Fault::OUT_OF_MEMORY),
        }
    }
}

pub fn free(state: &mut DriverState, address: u64, size: u64) -> Answer {
    if state.reservation.reserved.get(&address) != Some(&size)
        || state.reservation.mappings.range(address..address + size).next().is_some()
    {
        return Err(Fault::INVALID_VALUE);
    }
    state.reservation.reserved.remove(&address);
    // SAFETY: `reserve` mapped these pages, and no mapping is there.
    unsafe { pages::unmap(address, size) };
    Ok(())
}

/// Whether a range is in one reservation.
fn is_reserved(state: &DriverState, address: u64, size: u64) -> bool {
    let reservation = state.reservation.reserved.range(..=address).next_back();
    reservation.is_some_and(|(start, len)| size <= *len && address - start <= len - size)
}

pub fn map(state: &mut DriverState, address: u64, size: u64, offset: u64, memory: Handle) -> Answer {
    let piece = lookup(state, memory)?;
    let whole = |n: u64| n.is_multiple_of(GRANULE);
    let fits = offset.checked_add(size).is_some_and(|end| end <= piece.size);
    let last = state.reservation.mappings.range(..address.saturating_add(size)).next_back();
    let overlaps = last.is_some_and(|(start, m)| start + m.size > address);
    if size == 0 || overlaps || !whole(address) {
        return Err(Fault::INVALID_VALUE);
    }
    if !whole(size) || !whole(offset) || !fits {
        return Err(Fault::NOT_SUPPORTED);
    }
    if !is_reserved(state, address, size) {
        return Err(Fault::INVALID_VALUE);
    }
    let view = lookup(state, memory)?.memory.view(offset, size, address)?;
    state.reservation.mappings.insert(address, Mapping { piece: memory, size, view, access: BTreeMap::new() });
    Ok(())
}

/// The mappings that fill a range exactly.
fn exactly(state: &DriverState, address: u64, size: u64) -> Answer<Vec<u64>> {
    let end = address.checked_add(size).ok_or(Fault::INVALID_VALUE)?;
    let mut at = address;
    let mut starts = Vec::new();
    for (start, mapping) in state.reservation.mappings.range(address..end) {
        if *start != at {
            return Err(Fault::INVALID_VALUE);
        }
        at += mapping.size;
        starts.push(*start);
    }
    if at == end && size > 0 { Ok(starts) } else { Err(Fault::INVALID_VALUE) }
}

/// Waits for the work of the devices with memory in a range.
pub fn settle(address: u64, size: u64) -> Answer {
    if !machine().runs_kernels() {
        return Ok(());
    }
    let state = driver_state();
    let mappings = state.reservation.mappings.range(address..address.saturating_add(size));
    let of_device = |mapping: &Mapping| state.reservation.pieces.get(&mapping.piece).map(|piece| piece.properties.id);
    let devices: BTreeSet<i32> = mappings.filter_map(|(_, mapping)| of_device(mapping)).collect();
    drop(state);
    devices.into_iter().try_for_each(|device| space(device)?.settle())
}

/// Removes the mappings of a range. A range without a mapping is no error.
pub fn unmap(state: &mut DriverState, address: u64, size: u64) -> Answer {
    if is_reserved(state, address, size) && state.reservation.mappings.range(address..address + size).next().is_none() {
        let before = state.reservation.mappings.range(..address).next_back();
        if size > 0 && before.is_none_or(|(start, m)| start + m.size <= address) {
            return Ok(());
        }
    }
    for start in exactly(state, address, size)? {
        if let Some(mapping) = state.reservation.mappings.remove(&start) {
            state.memory.allocations.remove(&start);
            drop(mapping.view);
            forget(state, mapping.piece);
        }
    }
    Ok(())
}

/// Sets the access of devices to all mappings of a range. Device -1 is the host.
pub fn set_access(state: &mut DriverState, address: u64, size: u64, allowed: &[(i32, u32)]) -> Answer {
    let starts = exactly(state, address, size)?;
    if machine().runs_kernels() {
        refuse_peers(state, &starts, allowed)?;
    }
    for start in starts {
        let id = state.next_order();
        let Some(mapping) = state.reservation.mappings.get_mut(&start) else { continue };
        let mut access = mapping.access.clone();
        access.extend(allowed.iter().copied());
        let (size, memory, most) = (mapping.size, mapping.piece, access.values().max().copied().unwrap_or(0));
        mapping.view.allow(match most {
            0 => Access::Nothing,
            3 => Access::Write,
            _ => Access::Read,
        })?;
        mapping.access = access;
        if most == 0 {
            state.memory.allocations.remove(&start);
            continue;
        }
        let device = state.reservation.pieces.get(&memory).map_or(0, |m| m.properties.id);
        let none = Handle::NULL;
        let allocation = Allocation { size, kind: Kind::Mapped, device, context: none, id, pool: none };
        state.memory.allocations.entry(start).or_insert(allocation);
    }
    Ok(())
}

/// Refuses access of a GPU or the program to the memory of another GPU.
fn refuse_peers(state: &DriverState, starts: &[u64], allowed: &[(i32, u32)]) -> Answer {
    let owner = |start| {
        let mapping = state.reservation.mappings.get(start)?;
        state.reservation.pieces.get(&mapping.piece).map(|piece| piece.properties.id)
    };
    let is_own = |device: i32| starts.iter().all(|start| owner(start) == Some(device));
    if allowed.iter().any(|(device, access)| *access != 0 && !is_own(*device)) {
        refused::on_gpus(limited::MEM_SET_ACCESS)?;
    }
    Ok(())
}

/// The access of a device at an address.
pub fn access(state: &DriverState, address: u64, device: i32) -> Answer<u32> {
    let (start, mapping) = state.reservation.mappings.range(..=address).next_back().ok_or(Fault::INVALID_VALUE)?;
    if address - start >= mapping.size {
        return Err(Fault::INVALID_VALUE);
    }
    Ok(mapping.access.get(&device).copied().unwrap_or(0))
}
