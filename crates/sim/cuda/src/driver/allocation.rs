//! Memory. Device memory is host memory at addresses of our choosing: a window for each device, far from where
//! programs and their libraries live. The pages come when they are first touched.

use super::driver_state::{DriverState, Handle};
use super::fault::{Answer, Fault};
use super::{config, current};
use std::sync::atomic::{AtomicU64, Ordering};

const WINDOW: u64 = 0x2000_0000_0000;
const WINDOW_SIZE: u64 = 0x100_0000_0000;
const PAGE: u64 = 4096;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Device,
    Managed,
    /// Of a graph: `ends.rs` knows more.
    Graph,
    /// Memory at a reserved address, with access: `range.rs` knows more.
    Mapped,
    /// Page-locked memory of ours, with the flags it was asked for with.
    Host(u32),
    /// The program's own memory, registered with these flags.
    Registered(u32),
}

#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub size: u64,
    pub kind: Kind,
    pub device: i32,
    pub context: Handle,
    pub id: u64,
    pub pool: Handle,
}

/// What the program wishes for managed memory; -1 is the host.
#[derive(Clone, Default)]
pub struct Wishes {
    pub read_mostly: bool,
    pub preferred: Option<i32>,
    pub fetched: Option<i32>,
    pub accessed: std::collections::BTreeSet<i32>,
}

/// An array or a surface of texels, kept row by row.
#[derive(Clone, Copy)]
pub struct Array {
    pub context: Handle,
    pub address: u64,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
    pub texel: u64,
}

impl Allocation {
    fn pages(&self) -> u64 {
        self.size.next_multiple_of(PAGE)
    }

    pub fn on_device(&self) -> bool {
        matches!(self.kind, Kind::Device | Kind::Managed | Kind::Graph | Kind::Mapped)
    }
}

/// A new allocation of the current context.
pub fn allocate(world: &mut DriverState, kind: Kind, size: u64) -> Answer<u64> {
    let context = current::require(world)?;
    let device = world.contexts[&context].device;
    allocate_for(world, Allocation { size, kind, device, context, id: 0, pool: Handle::NULL })
}

/// A new allocation with all that is known of it but address and id.
pub fn allocate_for(world: &mut DriverState, mut made: Allocation) -> Answer<u64> {
    if made.size == 0 {
        return Err(Fault::INVALID_VALUE);
    }
    made.id = world.next_order();
    let address = if made.pool != Handle::NULL {
        // the pool has taken the room for it
        map_in_window(world, made.device, made.pages())?
    } else if made.on_device() {
        let used = world.used.get(&made.device).copied().unwrap_or(0);
        let free = config::config().memory.saturating_sub(used);
        if made.size > free || made.pages() > free {
            return Err(Fault::OUT_OF_MEMORY);
        }
        let address = map_in_window(world, made.device, made.pages())?;
        *world.used.entry(made.device).or_default() += made.pages();
        address
    } else {
        map(0, made.pages(), READ_WRITE).map_err(|_| Fault::OUT_OF_MEMORY)?
    };
    world.allocations.insert(address, made);
    Ok(address)
}

/// Memory of the program that becomes known to the driver.
pub fn register(world: &mut DriverState, address: u64, size: u64, flags: u32) -> Answer {
    let context = current::require(world)?;
    let device = world.contexts[&context].device;
    let end = address.checked_add(size).ok_or(Fault::INVALID_VALUE)?;
    if address == 0 || size == 0 {
        return Err(Fault::INVALID_VALUE);
    }
    match world.allocations.range(..end).next_back().filter(|(start, a)| *start + a.size > address) {
        Some((_, Allocation { kind: Kind::Registered(_), .. })) => return Err(Fault::HOST_MEMORY_ALREADY_REGISTERED),
        Some(_) => return Err(Fault::INVALID_VALUE),
        None if !is_mapped(address, end) => return Err(Fault::INVALID_VALUE),
        None => {}
    }
    let id = world.next_order();
    let kind = Kind::Registered(flags);
    world.allocations.insert(address, Allocation { size, kind, device, context, id, pool: Handle::NULL });
    Ok(())
}

/// Whether all of a range is memory of the process.
fn is_mapped(start: u64, end: u64) -> bool {
    let first = start & !(PAGE - 1);
    // SAFETY: it changes nothing; for addresses that nothing is mapped at it fails.
    unsafe { libc::msync(first as *mut libc::c_void, (end - first) as usize, libc::MS_ASYNC) == 0 }
}

/// Forgets an allocation and gives its pages back.
pub fn release(world: &mut DriverState, address: u64) {
    world.ending.remove(&address);
    let Some(gone) = world.allocations.remove(&address) else { return };
    world.wishes.remove(&address);
    world.graph_memory.remove(&address);
    if let Some(pool) = world.pools.get_mut(&gone.pool) {
        pool.give(gone.size);
    } else if gone.on_device() {
        let used = world.used.entry(gone.device).or_default();
        *used = used.saturating_sub(gone.pages());
    }
    if let Some(hint) = HINTS.get(gone.device as usize).filter(|_| gone.on_device()) {
        hint.fetch_min(address, Ordering::Relaxed);
    }
    if !matches!(gone.kind, Kind::Registered(_)) {
        // SAFETY: these pages were mapped by `map` for this allocation, which is no longer in the table.
        unsafe { libc::munmap(address as *mut libc::c_void, gone.pages() as usize) };
    }
}

/// The allocation that holds an address, and where it begins.
pub fn find(world: &DriverState, address: u64) -> Option<(u64, &Allocation)> {
    let (start, found) = world.allocations.range(..=address).next_back()?;
    (address - start < found.size).then_some((*start, found))
}

/// INVALID_VALUE unless `len` bytes from `address` lie in one allocation, or in mappings without a gap.
pub fn require(world: &DriverState, address: u64, len: u64) -> Answer {
    if len == 0 {
        return Ok(());
    }
    if len > super::address_space::run_from(world, address) { Err(Fault::INVALID_VALUE) } else { Ok(()) }
}

/// Where the next search for room begins, by device.
static HINTS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

fn map_in_window(world: &DriverState, device: i32, size: u64) -> Answer<u64> {
    let start = WINDOW + device as u64 * WINDOW_SIZE;
    let hint = HINTS.get(device as usize).ok_or(Fault::INVALID_DEVICE)?;
    let mut at = hint.load(Ordering::Relaxed).max(start + 0x200_0000);
    while at + size <= start + WINDOW_SIZE {
        match world.allocations.range(..at + size).next_back() {
            Some((other, found)) if other + found.pages() > at => at = other + found.pages(),
            _ => match map(at, size, READ_WRITE) {
                Ok(address) => {
                    // small ones close the gap that they were put into; a large one may have left smaller ones behind
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

pub const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Why pages could not be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Another mapping is at that address: another address may do.
    Occupied,
    /// The process may have no more memory, at any address.
    NoRoom,
}

/// Fresh zero pages, at `at` exactly unless that is 0.
pub fn map(at: u64, size: u64, access: i32) -> Result<u64, Refused> {
    let fixed = if at == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: anonymous memory where nothing is mapped yet; it replaces nothing.
    let got = unsafe { libc::mmap(at as *mut libc::c_void, size as usize, access, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        let occupied = std::io::Error::last_os_error().raw_os_error() == Some(libc::EEXIST);
        return Err(if occupied { Refused::Occupied } else { Refused::NoRoom });
    }
    if at != 0 && got as u64 != at {
        // SAFETY: just mapped (by a kernel that does not know MAP_FIXED_NOREPLACE) and used by nobody.
        unsafe { libc::munmap(got, size as usize) };
        return Err(Refused::Occupied);
    }
    Ok(got as u64)
}
