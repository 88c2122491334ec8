//! Which memory of the kernel driver this process has mapped, and where a GPU sees it. Only under `lock`: a mapping is
//! forgotten before it goes, so no thread reads from it then.

use crate::process::path::Shared;
use crate::sys::arch::{load4, load8};
use crate::sys::{self, Opened, Table};
use core::cell::UnsafeCell;

/// Mappings of devices, and ranges of a GPU's addresses, at most.
const HOSTS: usize = 2048;
const RANGES: usize = 8192;
/// Descriptors that are prepared and not yet mapped.
const PREPARED: usize = 64;
const PAGE: usize = 4096;

/// An object of memory: its client and its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Object {
    /// The client.
    pub client: u32,
    /// The handle.
    pub handle: u32,
}

/// A piece of an object, and where it can be seen. No bytes: the place is free.
#[derive(Debug, Clone, Copy, Default)]
pub struct Piece {
    /// The address.
    pub at: u64,
    /// Bytes.
    pub bytes: u64,
    /// Where in the object it begins.
    pub offset: u64,
    /// The object.
    pub of: Object,
}

impl Piece {
    fn is_in(&self, from: u64, bytes: u64) -> bool {
        self.bytes != 0 && self.at < from.saturating_add(bytes) && from < self.at.saturating_add(self.bytes)
    }
    /// How far inside an address lies.
    fn inside(&self, at: u64) -> Option<u64> {
        at.checked_sub(self.at).filter(|distance| *distance < self.bytes)
    }
}

const EMPTY: Piece = Piece { at: 0, bytes: 0, offset: 0, of: Object { client: 0, handle: 0 } };

#[unsafe(link_section = ".bss.cutap_tables")]
static HOST: Table<Shared<Piece>, HOSTS> = Table([const { Shared(UnsafeCell::new(EMPTY)) }; HOSTS]);
#[unsafe(link_section = ".bss.cutap_tables")]
static RANGE: Table<Shared<Piece>, RANGES> = Table([const { Shared(UnsafeCell::new(EMPTY)) }; RANGES]);
static HOST_OPENED: Opened = Opened::all();
static RANGE_OPENED: Opened = Opened::all();

/// What changes with them; descriptors that were prepared have the descriptor as the address.
struct State {
    hosts: usize,
    ranges: usize,
    prepared: [Piece; PREPARED],
    /// Where the next one goes.
    next: usize,
}

static STATE: Shared<State> =
    Shared(UnsafeCell::new(State { hosts: 0, ranges: 0, prepared: [EMPTY; PREPARED], next: 0 }));

/// At start: nothing is in use.
pub fn close() {
    HOST_OPENED.close(&HOST);
    RANGE_OPENED.close(&RANGE);
}

/// The state.
///
/// # Safety
/// Under the lock.
unsafe fn state() -> &'static mut State {
    // SAFETY: the caller's promise.
    unsafe { &mut *STATE.0.get() }
}

/// The pieces in use of a table.
///
/// # Safety
/// Under the lock.
#[allow(clippy::mut_from_ref, reason = "each place is a cell of its own")]
unsafe fn used<const N: usize>(
    table: &'static Table<Shared<Piece>, N>,
    n: usize,
) -> impl Iterator<Item = &'static mut Piece> {
    // SAFETY: the caller's promise; so many were opened.
    table.iter().take(n).map(|p| unsafe { &mut *p.0.get() })
}

/// Puts a piece where one is free.
///
/// # Safety
/// Under the lock.
unsafe fn put<const N: usize>(table: &'static Table<Shared<Piece>, N>, opened: &Opened, n: &mut usize, piece: Piece) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(free) = used(table, *n).find(|p| p.bytes == 0) {
            *free = piece;
        } else if opened.reach(table, *n)
            && let Some(to) = table.get(*n)
        {
            *to.0.get() = piece;
            *n += 1;
        }
    }
}

/// A descriptor leads to a piece of an object from now on: the next mapping of it is one.
///
/// # Safety
/// Under the lock.
pub unsafe fn prepared(fd: i32, of: Object, offset: u64, bytes: u64) {
    // SAFETY: the caller's promise.
    let state = unsafe { state() };
    let at = state.next % PREPARED;
    state.next = at + 1;
    if let Some(to) = state.prepared.get_mut(at) {
        *to = Piece { at: fd as u64, bytes, offset, of };
    }
}

/// A descriptor was mapped.
///
/// # Safety
/// Under the lock.
pub unsafe fn mapped(fd: i32, at: usize, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let state = state();
        let Some(preparation) = state.prepared.iter_mut().find(|p| p.bytes != 0 && p.at == fd as u64) else { return };
        let piece = Piece { at: at as u64, bytes: bytes as u64, offset: preparation.offset, of: preparation.of };
        preparation.bytes = 0;
        put(&HOST, &HOST_OPENED, &mut state.hosts, piece);
    }
}

/// Mappings in a range go away, or something else comes in their place; true if there were any.
///
/// # Safety
/// Under the lock.
pub unsafe fn unmapped(at: usize, bytes: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let affected = used(&HOST, state().hosts).filter(|p| p.is_in(at as u64, bytes as u64));
        affected.map(|p| p.bytes = 0).count() != 0
    }
}

/// A GPU sees a piece of an object at an address from now on.
///
/// # Safety
/// Under the lock.
pub unsafe fn add_gpu_mapping(piece: Piece) {
    // SAFETY: the caller's promise.
    unsafe {
        let state = state();
        used(&RANGE, state.ranges).filter(|p| p.is_in(piece.at, piece.bytes)).for_each(|p| p.bytes = 0);
        if piece.bytes != 0 {
            put(&RANGE, &RANGE_OPENED, &mut state.ranges, piece);
        }
    }
}

/// An object is freed, or a client with all its objects: no GPU sees it any more.
///
/// # Safety
/// Under the lock.
pub unsafe fn freed(of: Object) {
    let is = |p: &&mut Piece| p.of == of || of.client == of.handle && p.of.client == of.client;
    // SAFETY: the caller's promise.
    unsafe { used(&RANGE, state().ranges).filter(is).for_each(|p| p.bytes = 0) };
}

/// Where this process has a place of an object, and how many bytes follow.
///
/// # Safety
/// Under the lock.
pub unsafe fn host_of(of: Object, offset: u64) -> Option<(usize, u64)> {
    let place = |p: &mut Piece| {
        let inside = offset.checked_sub(p.offset).filter(|n| p.of == of && *n < p.bytes)?;
        Some(((p.at + inside) as usize, p.bytes - inside))
    };
    // SAFETY: the caller's promise.
    unsafe { used(&HOST, state().hosts).find_map(place) }
}

/// Where this process has what a GPU sees at an address, and how many bytes follow. libcuda gives memory the same
/// address on both sides.
///
/// # Safety
/// Under the lock.
pub unsafe fn host(at: u64) -> Option<(usize, u64)> {
    // SAFETY: the caller's promise.
    unsafe {
        let state = state();
        let range = used(&RANGE, state.ranges).find_map(|p| Some((p.inside(at)?, *p)));
        if let Some((inside, range)) = range {
            let (host, length) = host_of(range.of, range.offset + inside)?;
            return Some((host, length.min(range.bytes - inside)));
        }
        used(&HOST, state.hosts).find_map(|p| Some((at as usize, p.bytes - p.inside(at)?)))
    }
}

/// Copies mapped memory, up to the first page that is gone; how many bytes. Memory of a device cannot be copied by the
/// kernel, so each page is tested first.
///
/// # Safety
/// Under the lock, and `to` is writable for `len` bytes.
pub unsafe fn copy(from: usize, to: *mut u8, len: usize) -> usize {
    let mut copied = 0;
    while copied < len {
        let at = from + copied;
        let part = (len - copied).min(PAGE - at % PAGE);
        if !sys::readable(at & !(PAGE - 1)) {
            break;
        }
        // SAFETY: the page is there, and the driver unmaps nothing under the lock; `to` is the caller's promise.
        unsafe { words(at, to.add(copied), part) };
        copied += part;
    }
    copied
}

/// Eight bytes at a time: reads of a device's memory cost about a microsecond each.
///
/// # Safety
/// Both sides can be used for `len` bytes.
unsafe fn words(from: usize, to: *mut u8, len: usize) {
    let mut n = 0;
    // SAFETY: the caller's promise.
    unsafe {
        if !from.is_multiple_of(8) && len >= 4 {
            to.cast::<u32>().write_unaligned(load4(from));
            n = 4;
        }
        while n + 8 <= len {
            to.add(n).cast::<u64>().write_unaligned(load8(from + n));
            n += 8;
        }
        while n + 4 <= len {
            to.add(n).cast::<u32>().write_unaligned(load4(from + n));
            n += 4;
        }
        while n < len {
            to.add(n).write((from as *const u8).add(n).read_volatile());
            n += 1;
        }
    }
}

/// A forked child has none of it: the driver is not its own.
///
/// # Safety
/// Under the lock.
pub unsafe fn forget() {
    // SAFETY: the caller's promise.
    unsafe {
        let state = state();
        used(&HOST, state.hosts).chain(used(&RANGE, state.ranges)).for_each(|p| p.bytes = 0);
        state.prepared = [EMPTY; PREPARED];
    }
}
