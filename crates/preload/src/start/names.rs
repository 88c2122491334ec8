//! Writing the names stream. Room is taken by adding to a counter of this process's own memory, so a
//! forked child knows how much of its parent's names is meant for it too, and copies that much.

use super::{Path, count, process};
use crate::{sys, thread::clock};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use cutap_wire::count;
use cutap_wire::names::{CELL, FILE, FIXED, GROW, MAX_BYTES, Name};

static AT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static NEXT: AtomicUsize = AtomicUsize::new(0);
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the mapping: less than all where the address space is limited.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// The parent's mapping and how much of it was taken at the fork.
static PARENT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static PARENT_BYTES: AtomicUsize = AtomicUsize::new(0);

fn open(how: sys::Open) -> Option<sys::File> {
    let mut path = Path::process();
    path.push(b"/").push(FILE.as_bytes());
    sys::open(path.bytes(), how)
}

/// Makes the file; a forked child's begins with its parent's names.
pub fn make() -> bool {
    let inherited = PARENT_BYTES.load(Relaxed);
    let Some(file) = open(sys::Open::New) else { return false };
    let size = (inherited + 1).next_multiple_of(GROW);
    if !file.allocate(size) {
        return false;
    }
    // Mapped whole, once: what lies behind the end of the file cannot be touched before it is allocated.
    let sizes = [MAX_BYTES, size.max(MAX_BYTES / 16)];
    let Some((at, mapped)) = sizes.into_iter().map(|s| (file.map_closed(s), s)).find(|m| !m.0.is_null()) else {
        return false;
    };
    if !sys::opened(at, size) {
        return false;
    }
    MAPPED.store(mapped, Relaxed);
    let parent = PARENT.load(Relaxed);
    if inherited != 0 && !parent.is_null() {
        // SAFETY: both mappings hold that many allocated bytes.
        unsafe { core::ptr::copy_nonoverlapping(parent, at, inherited) };
    }
    ALLOCATED.store(size, Relaxed);
    NEXT.store(inherited, Relaxed);
    AT.store(at, Release);
    true
}

/// Writes a name; where its first string stands now, for as long as the process lives.
pub fn write(name: &Name) -> Option<*const u8> {
    let place = take(name.cells() * CELL);
    let Some(place) = place else {
        count(count::NAME_DROPPED, 1);
        return None;
    };
    let stamped = Name { ticks: clock::ticks(), ..*name };
    // SAFETY: the cells were taken for it.
    unsafe {
        stamped.write(place);
        Some(place.add(FIXED))
    }
}

fn take(bytes: usize) -> Option<*mut u8> {
    if !process::made() {
        return None;
    }
    let at = AT.load(Acquire);
    if at.is_null() {
        return None;
    }
    let offset = NEXT.fetch_add(bytes, Relaxed);
    let end = offset + bytes;
    if end > MAPPED.load(Relaxed) {
        return None;
    }
    if end > ALLOCATED.load(Acquire) {
        // Two threads may both grow the file: doing it twice does no harm.
        let size = end.next_multiple_of(GROW);
        if !open(sys::Open::ReadWrite)?.allocate(size) || !sys::opened(at, size) {
            return None;
        }
        ALLOCATED.fetch_max(size, AcqRel);
    }
    // SAFETY: within the mapping and the file.
    Some(unsafe { at.add(offset) })
}

/// A forked child. One whose parent had no folder of its own yet inherits what its parent inherited.
pub fn forked() {
    if process::is_made() {
        PARENT_BYTES.store(NEXT.load(Relaxed).min(ALLOCATED.load(Relaxed)), Relaxed);
        PARENT.store(AT.swap(core::ptr::null_mut(), AcqRel), Relaxed);
    }
}
