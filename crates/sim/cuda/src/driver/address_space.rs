//! Virtual memory management: pieces of memory without an address, reserved addresses without memory, and mappings. A
//! piece is a part of a file in memory, so that it can be mapped at several addresses. A piece that another process
//! may import has a separate file. All other pieces share one file.

use super::device::device;
use crate::abi::{Answer, Fault};
use crate::host::pages::{self, NO_ACCESS, READ, READ_WRITE, Refused};
use crate::state::{Allocation, DriverState, Handle, Kind, Mapping, Piece, Properties};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sizes and offsets are multiples of this.
pub const GRANULE: u64 = 2 << 20;
/// The only kind of handle for other processes: a file descriptor.
pub const FILE: u32 = 1;

/// INVALID_VALUE unless the properties name an existing device or the host.
pub fn check(properties: &Properties) -> Answer {
    match (properties.kind, properties.place) {
        (1, 1) => device(properties.id).map(drop),
        (1, 2..=4) => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    }
}

/// The file and the offset of a new piece.
fn place(state: &mut DriverState, size: u64, own: bool) -> Answer<(Arc<OwnedFd>, u64)> {
    const SHARED_SIZE: u64 = 1 << 46;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if own {
        return Ok((Arc::new(pages::new_file(size)?), 0));
    }
    if state.reservation.common_file.is_none() {
        state.reservation.common_file = Some(Arc::new(pages::new_file(SHARED_SIZE)?));
    }
    let file = state.reservation.common_file.clone().ok_or(Fault::OUT_OF_MEMORY)?;
    Ok((file, NEXT.fetch_add(size, Ordering::Relaxed)))
}

pub fn create(state: &mut DriverState, size: u64, properties: Properties) -> Answer<Handle> {
    check(&properties)?;
    if size == 0 || !size.is_multiple_of(GRANULE) {
        return Err(Fault::INVALID_VALUE);
    }
    let used = state.memory.used.entry(properties.id).or_default();
    if size > super::device::memory(properties.id).saturating_sub(*used) {
        return Err(Fault::OUT_OF_MEMORY);
    }
    *used += size;
    let (file, offset) = place(state, size, properties.handles & FILE != 0)?;
    let handle = state.new_handle();
    state.reservation.pieces.insert(handle, Piece { properties, size, file, offset, references: 1 });
    Ok(handle)
}

/// The piece of memory of a descriptor that `export` returned, perhaps in another process.
pub fn import(state: &mut DriverState, fd: RawFd) -> Answer<Handle> {
    let (file, size) = pages::import_file(fd)?;
    let properties = Properties { kind: 1, handles: FILE, place: 1, ..Properties::default() };
    let handle = state.new_handle();
    *state.memory.used.entry(0).or_default() += size;
    state.reservation.pieces.insert(handle, Piece { properties, size, file: Arc::new(file), offset: 0, references: 1 });
    Ok(handle)
}

/// A descriptor for another process.
pub fn export(state: &DriverState, memory: Handle, kind: u32) -> Answer<RawFd> {
    let memory = lookup(state, memory)?;
    match kind == FILE && memory.properties.handles & FILE != 0 {
        true => pages::duplicate(memory.file.as_raw_fd()),
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
    if piece.properties.handles & FILE == 0 {
        pages::discard(piece.file.as_fd(), piece.offset, piece.size);
    }
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
    // SAFETY: `reserve` mapped these pages, and no mapping is there.
    unsafe { pages::map_file(address, size, piece.file.as_fd(), piece.offset + offset) }?;
    state.reservation.mappings.insert(address, Mapping { piece: memory, size, access: BTreeMap::new() });
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
            // SAFETY: a mapping of this driver was there, and it is no longer in the table.
            unsafe { pages::reserve_again(start, mapping.size) };
            forget(state, mapping.piece);
        }
    }
    Ok(())
}

/// Sets the access of devices to all mappings of a range. Device -1 is the host.
pub fn set_access(state: &mut DriverState, address: u64, size: u64, allowed: &[(i32, u32)]) -> Answer {
    for start in exactly(state, address, size)? {
        let id = state.next_order();
        let Some(mapping) = state.reservation.mappings.get_mut(&start) else { continue };
        mapping.access.extend(allowed.iter().copied());
        let (size, memory, most) = (mapping.size, mapping.piece, mapping.access.values().max().copied().unwrap_or(0));
        let access = match most {
            0 => NO_ACCESS,
            3 => READ_WRITE,
            _ => READ,
        };
        // SAFETY: the pages of this mapping.
        unsafe { pages::protect(start, size, access) };
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

/// The access of a device at an address.
pub fn access(state: &DriverState, address: u64, device: i32) -> Answer<u32> {
    let (start, mapping) = state.reservation.mappings.range(..=address).next_back().ok_or(Fault::INVALID_VALUE)?;
    if address - start >= mapping.size {
        return Err(Fault::INVALID_VALUE);
    }
    Ok(mapping.access.get(&device).copied().unwrap_or(0))
}
