//! Virtual memory management: memory without an address, addresses without memory, and the one mapped to the other.
//! The memory is a file in memory, so that it can be mapped in more than one place; a piece that may be handed to
//! another process has a file of its own, all others share one.

use super::allocation::{self, Allocation, Kind, Refused};
use super::config;
use super::driver_state::{DriverState, Handle};
use super::fault::{Answer, Fault};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sizes and offsets are multiples of this.
pub const GRANULE: u64 = 2 << 20;
/// The only kind of handle that another process can be given: a file.
pub const FILE: u32 = 1;

/// CUmemAllocationProp
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Properties {
    pub kind: u32,
    pub handles: u32,
    pub place: u32,
    pub id: i32,
    pub other: u64,
    pub flags: u64,
}

impl Properties {
    /// On a device that is there, or on the host.
    pub fn check(&self) -> Answer {
        match (self.kind, self.place) {
            (1, 1) => super::context::device(self.id).map(drop),
            (1, 2..=4) => Ok(()),
            _ => Err(Fault::INVALID_VALUE),
        }
    }
}

/// A piece of memory.
pub struct Memory {
    pub properties: Properties,
    pub size: u64,
    file: Arc<OwnedFd>,
    offset: u64,
    references: u32,
}

/// A piece of memory at an address.
pub struct Mapping {
    pub memory: Handle,
    pub size: u64,
    /// What devices may do there: 1 read, 3 write too.
    pub access: BTreeMap<i32, u32>,
}

fn new_file(size: u64) -> Answer<OwnedFd> {
    // SAFETY: a plain call with a C string; the descriptor is ours alone.
    let fd = unsafe { libc::memfd_create(c"cutap-sim".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(Fault::OUT_OF_MEMORY);
    }
    // SAFETY: just made.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: a plain call on a descriptor of ours.
    let grown = unsafe { libc::ftruncate(fd, size as i64) };
    if grown == 0 { Ok(file) } else { Err(Fault::OUT_OF_MEMORY) }
}

/// Where a piece of so many bytes lies.
fn place(world: &mut DriverState, size: u64, own: bool) -> Answer<(Arc<OwnedFd>, u64)> {
    const SHARED_SIZE: u64 = 1 << 46;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if own {
        return Ok((Arc::new(new_file(size)?), 0));
    }
    if world.memory_file.is_none() {
        world.memory_file = Some(Arc::new(new_file(SHARED_SIZE)?));
    }
    let file = world.memory_file.clone().ok_or(Fault::OUT_OF_MEMORY)?;
    Ok((file, NEXT.fetch_add(size, Ordering::Relaxed)))
}

pub fn create(world: &mut DriverState, size: u64, properties: Properties) -> Answer<Handle> {
    properties.check()?;
    if size == 0 || !size.is_multiple_of(GRANULE) {
        return Err(Fault::INVALID_VALUE);
    }
    let used = world.used.entry(properties.id).or_default();
    if size > config::config().memory.saturating_sub(*used) {
        return Err(Fault::OUT_OF_MEMORY);
    }
    *used += size;
    let (file, offset) = place(world, size, properties.handles & FILE != 0)?;
    let made = world.new_handle();
    world.memories.insert(made, Memory { properties, size, file, offset, references: 1 });
    Ok(made)
}

/// The memory behind a descriptor that another `create` handed out.
pub fn import(world: &mut DriverState, fd: RawFd) -> Answer<Handle> {
    let name = std::fs::read_link(format!("/proc/self/fd/{fd}")).map_err(|_| Fault::INVALID_VALUE)?;
    if !name.to_string_lossy().contains("memfd:cutap-sim") {
        return Err(Fault::INVALID_VALUE);
    }
    // SAFETY: plain calls on a descriptor that is open, as its name was found; the copy is ours alone.
    let file = unsafe { OwnedFd::from_raw_fd(duplicate(fd)?) };
    // SAFETY: as above.
    let size = unsafe { libc::lseek(fd, 0, libc::SEEK_END) } as u64;
    let properties = Properties { kind: 1, handles: FILE, place: 1, ..Properties::default() };
    let made = world.new_handle();
    *world.used.entry(0).or_default() += size;
    world.memories.insert(made, Memory { properties, size, file: Arc::new(file), offset: 0, references: 1 });
    Ok(made)
}

fn duplicate(fd: RawFd) -> Answer<RawFd> {
    // SAFETY: a plain call.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 { Err(Fault::OUT_OF_MEMORY) } else { Ok(copy) }
}

/// A descriptor for another process.
pub fn export(world: &DriverState, memory: Handle, kind: u32) -> Answer<RawFd> {
    let memory = known(world, memory)?;
    match kind == FILE && memory.properties.handles & FILE != 0 {
        true => duplicate(memory.file.as_raw_fd()),
        false => Err(Fault::INVALID_VALUE),
    }
}

/// INVALID_VALUE for a handle that is not there.
pub fn known(world: &DriverState, memory: Handle) -> Answer<&Memory> {
    world.memories.get(&memory).filter(|m| m.references > 0).ok_or(Fault::INVALID_VALUE)
}

/// One more holder of the memory at an address.
pub fn retain(world: &mut DriverState, address: u64) -> Answer<Handle> {
    let (_, mapping) = world.mappings.range(..=address).next_back().ok_or(Fault::INVALID_VALUE)?;
    let (start, memory) = (world.mappings.range(..=address).next_back().map_or(0, |m| *m.0), mapping.memory);
    if address - start >= mapping.size {
        return Err(Fault::INVALID_VALUE);
    }
    world.memories.get_mut(&memory).ok_or(Fault::INVALID_VALUE)?.references += 1;
    Ok(memory)
}

/// One holder less; the memory goes when it is mapped nowhere either.
pub fn release(world: &mut DriverState, memory: Handle) -> Answer {
    known(world, memory)?;
    if let Some(found) = world.memories.get_mut(&memory) {
        found.references -= 1;
    }
    forget(world, memory);
    Ok(())
}

fn forget(world: &mut DriverState, handle: Handle) {
    let mapped = world.mappings.values().any(|m| m.memory == handle);
    if mapped || world.memories.get(&handle).is_none_or(|m| m.references > 0) {
        return;
    }
    let Some(gone) = world.memories.remove(&handle) else { return };
    let used = world.used.entry(gone.properties.id).or_default();
    *used = used.saturating_sub(gone.size);
    let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    if gone.properties.handles & FILE == 0 {
        // SAFETY: a plain call on a descriptor of ours; nobody has that part any more.
        unsafe { libc::fallocate(gone.file.as_raw_fd(), hole, gone.offset as i64, gone.size as i64) };
    }
}

/// Addresses without memory, at `wanted` if that is free.
pub fn reserve(world: &mut DriverState, size: u64, alignment: u64, wanted: u64) -> Answer<u64> {
    const FIRST: u64 = 0x2800_0000_0000;
    const END: u64 = 0x3f00_0000_0000;
    static NEXT: AtomicU64 = AtomicU64::new(FIRST);
    let aligned = alignment == 0 || alignment.is_power_of_two();
    if size == 0 || !size.is_multiple_of(GRANULE) || !aligned || size > END - FIRST {
        return Err(Fault::INVALID_VALUE);
    }
    let alignment = alignment.max(GRANULE);
    let map = |at| allocation::map(at, size, libc::PROT_NONE);
    if wanted != 0 && wanted.is_multiple_of(alignment) && map(wanted).is_ok() {
        world.reserved.insert(wanted, size);
        return Ok(wanted);
    }
    loop {
        let start = NEXT.fetch_add(size + alignment, Ordering::Relaxed).next_multiple_of(alignment);
        if start + size > END {
            return Err(Fault::OUT_OF_MEMORY);
        }
        match map(start) {
            Ok(_) => {
                world.reserved.insert(start, size);
                return Ok(start);
            }
            Err(Refused::Occupied) => {}
            Err(Refused::NoRoom) => return Err(Fault::OUT_OF_MEMORY),
        }
    }
}

pub fn free(world: &mut DriverState, address: u64, size: u64) -> Answer {
    if world.reserved.get(&address) != Some(&size) || world.mappings.range(address..address + size).next().is_some() {
        return Err(Fault::INVALID_VALUE);
    }
    world.reserved.remove(&address);
    // SAFETY: reserved by `reserve`, and nothing is mapped there.
    unsafe { libc::munmap(address as *mut libc::c_void, size as usize) };
    Ok(())
}

/// Whether so many bytes are in one reservation.
fn is_reserved(world: &DriverState, address: u64, size: u64) -> bool {
    let found = world.reserved.range(..=address).next_back();
    found.is_some_and(|(start, len)| size <= *len && address - start <= len - size)
}

pub fn map(world: &mut DriverState, address: u64, size: u64, offset: u64, memory: Handle) -> Answer {
    let found = known(world, memory)?;
    let whole = |n: u64| n.is_multiple_of(GRANULE);
    let fits = offset.checked_add(size).is_some_and(|end| end <= found.size);
    let taken = world.mappings.range(..address.saturating_add(size)).next_back();
    let taken = taken.is_some_and(|(start, m)| start + m.size > address);
    if size == 0 || taken || !whole(address) {
        return Err(Fault::INVALID_VALUE);
    }
    if !whole(size) || !whole(offset) || !fits {
        return Err(Fault::NOT_SUPPORTED);
    }
    if !is_reserved(world, address, size) {
        return Err(Fault::INVALID_VALUE);
    }
    let (fd, start) = (found.file.as_raw_fd(), found.offset + offset);
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: it replaces reserved pages that nothing is mapped to.
    let got =
        unsafe { libc::mmap(address as *mut libc::c_void, size as usize, libc::PROT_NONE, flags, fd, start as i64) };
    if got == libc::MAP_FAILED {
        return Err(Fault::OUT_OF_MEMORY);
    }
    world.mappings.insert(address, Mapping { memory, size, access: BTreeMap::new() });
    Ok(())
}

/// The mappings that fill a range exactly.
fn exactly(world: &DriverState, address: u64, size: u64) -> Answer<Vec<u64>> {
    let end = address.checked_add(size).ok_or(Fault::INVALID_VALUE)?;
    let mut at = address;
    let mut found = Vec::new();
    for (start, mapping) in world.mappings.range(address..end) {
        if *start != at {
            return Err(Fault::INVALID_VALUE);
        }
        at += mapping.size;
        found.push(*start);
    }
    if at == end && size > 0 { Ok(found) } else { Err(Fault::INVALID_VALUE) }
}

/// Where nothing is mapped nothing is to be done.
pub fn unmap(world: &mut DriverState, address: u64, size: u64) -> Answer {
    if is_reserved(world, address, size) && world.mappings.range(address..address + size).next().is_none() {
        let before = world.mappings.range(..address).next_back();
        if size > 0 && before.is_none_or(|(start, m)| start + m.size <= address) {
            return Ok(());
        }
    }
    for start in exactly(world, address, size)? {
        if let Some(gone) = world.mappings.remove(&start) {
            world.allocations.remove(&start);
            reserve_again(start, gone.size);
            forget(world, gone.memory);
        }
    }
    Ok(())
}

/// Pages that nothing can be done with, in the place of a mapping of ours that ends.
fn reserve_again(at: u64, size: u64) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: what is there is a mapping of ours that ends.
    unsafe { libc::mmap(at as *mut libc::c_void, size as usize, libc::PROT_NONE, flags, -1, 0) };
}

/// What devices (-1: the host) may do with all mappings of a range.
pub fn set_access(world: &mut DriverState, address: u64, size: u64, allowed: &[(i32, u32)]) -> Answer {
    for start in exactly(world, address, size)? {
        let id = world.next_order();
        let Some(mapping) = world.mappings.get_mut(&start) else { continue };
        mapping.access.extend(allowed.iter().copied());
        let (size, memory, most) = (mapping.size, mapping.memory, mapping.access.values().max().copied().unwrap_or(0));
        let access =
            [libc::PROT_NONE, libc::PROT_READ][usize::from(most > 0)] | if most == 3 { libc::PROT_WRITE } else { 0 };
        // SAFETY: pages of this mapping of ours.
        unsafe { libc::mprotect(start as *mut libc::c_void, size as usize, access) };
        if most == 0 {
            world.allocations.remove(&start);
            continue;
        }
        let device = world.memories.get(&memory).map_or(0, |m| m.properties.id);
        let none = Handle::NULL;
        let made = Allocation { size, kind: Kind::Mapped, device, context: none, id, pool: none };
        world.allocations.entry(start).or_insert(made);
    }
    Ok(())
}

/// What a device may do at an address.
pub fn access(world: &DriverState, address: u64, device: i32) -> Answer<u32> {
    let (start, mapping) = world.mappings.range(..=address).next_back().ok_or(Fault::INVALID_VALUE)?;
    if address - start >= mapping.size {
        return Err(Fault::INVALID_VALUE);
    }
    Ok(mapping.access.get(&device).copied().unwrap_or(0))
}

/// How much of one allocation and those mapped right behind it there is from an address on.
pub fn run_from(world: &DriverState, address: u64) -> u64 {
    let Some((mut start, mut found)) = allocation::find(world, address) else { return 0 };
    let mut len = found.size - (address - start);
    while found.kind == Kind::Mapped {
        let next = start + found.size;
        match world.allocations.get(&next) {
            Some(more) if more.kind == Kind::Mapped => (start, found) = (next, more),
            _ => break,
        }
        len += found.size;
    }
    len
}
