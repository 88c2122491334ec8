//! Writing the names stream. Room is taken by adding to a counter of this process's own memory, so a
//! forked child knows how much of its parent's names is meant for it too, and copies that much.

use super::{Path, count, process};
use crate::{sys, thread::clock};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use cutap_wire::count;
use cutap_wire::names::{CELL, Cell, FILE, FIXED, GROW, MAX_BYTES, Name, cell};

static AT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static NEXT: AtomicUsize = AtomicUsize::new(0);
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the mapping: less than all where the address space is limited.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// The parent's mapping and how much of it was taken at the fork.
static PARENT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static PARENT_BYTES: AtomicUsize = AtomicUsize::new(0);

fn with<R>(how: &[sys::Open], then: impl FnOnce(&sys::File) -> R) -> Option<R> {
    let mut path = Path::process();
    path.push(b"/").push(FILE.as_bytes());
    sys::with(path.bytes(), how, then)
}

/// A file with room for so many bytes: where it is mapped, and how much of that may be used some day.
fn new_file(size: usize) -> Option<(*mut u8, usize)> {
    // A try before may have left one that is empty.
    let (at, mapped) = with(sys::MADE, |file| {
        // Mapped whole, once: what lies behind the end of the file cannot be touched before it is allocated.
        let sizes = [MAX_BYTES, size.max(MAX_BYTES / 16)];
        let allocated = file.allocate(size);
        sizes.into_iter().filter(|_| allocated).map(|s| (file.map_closed(s), s)).find(|m| !m.0.is_null())
    })??;
    sys::opened(at, size).then_some((at, mapped))
}

/// Makes the file; a forked child's begins with its parent's names.
pub fn make() -> bool {
    let size = (PARENT_BYTES.load(Relaxed) + 1).next_multiple_of(GROW);
    new_file(size).is_some_and(|(at, mapped)| begin(at, size, mapped))
}

/// The same in this process's own memory, where no file can be made: it does not grow.
pub fn make_without() -> bool {
    let inherited = PARENT_BYTES.load(Relaxed).next_multiple_of(GROW);
    let sizes = WITHOUT_BYTES.map(|bytes| inherited + bytes);
    let found = sizes.into_iter().map(|s| (sys::pages(s), s)).find(|m| !m.0.is_null());
    found.is_some_and(|(at, size)| begin(at, size, size))
}

/// Bytes of names without a file, or of as many as there is room for.
const WITHOUT_BYTES: [usize; 2] = [16 << 20, 4 * GROW];

/// Brings the names of a process without a file into one. Where they stood they stay, for texts there are pointed to.
pub fn move_in() -> bool {
    let (from, taken) = (AT.load(Acquire), NEXT.load(Acquire));
    let size = (taken + GROW).next_multiple_of(GROW);
    let Some((to, mapped)) = new_file(size) else { return false };
    let here = MAPPED.load(Acquire);
    // Nearly all, before anybody, or a child that is forked meanwhile, looks there.
    // SAFETY: both mappings hold that many bytes.
    unsafe { core::ptr::copy_nonoverlapping(from, to, taken.min(here)) };
    MAPPED.store(mapped, Release);
    ALLOCATED.store(size, Release);
    AT.store(to, Release);
    // Whoever was just taking a place, or had one before that, is still writing it there, a few words.
    sys::yield_now();
    let (mut at, mut patience) = (0, PATIENCE);
    let all = NEXT.load(Acquire).min(here).min(size);
    // SAFETY: mapped for ever; cells that are being written are looked at again.
    let (old, new) = unsafe { (core::slice::from_raw_parts(from, here), core::slice::from_raw_parts(to, size)) };
    while at < all {
        at += match (cell(old, at), cell(new, at)) {
            // Copied, or by somebody who knows the file.
            (_, Cell::Name(_, bytes)) => bytes,
            (Cell::Empty, Cell::Pending(bytes)) => bytes,
            (Cell::Name(_, bytes), _) => {
                // SAFETY: both mappings hold that many bytes; nobody reads the file before the process's page is there.
                unsafe { core::ptr::copy_nonoverlapping(from.add(at), to.add(at), bytes.min(size - at)) };
                bytes
            }
            (Cell::End, _) => break,
            _ if patience > 0 => {
                patience -= 1;
                sys::yield_now();
                0
            }
            (Cell::Pending(bytes), _) => bytes,
            (Cell::Empty, _) => CELL,
        };
    }
    true
}

/// How often it may yield while another thread writes its name.
const PATIENCE: u32 = 1000;

fn begin(at: *mut u8, size: usize, mapped: usize) -> bool {
    let inherited = PARENT_BYTES.load(Relaxed);
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
    // Ahead of time, for there may be no descriptor when there is no room any more.
    let allocated = ALLOCATED.load(Acquire);
    if end + GROW / 2 > allocated && allocated < MAPPED.load(Relaxed) {
        // Two threads may both grow the file: doing it twice does no harm.
        let size = (end + GROW / 2).next_multiple_of(GROW);
        let grown = with(&[sys::Open::ReadWrite], |file| file.allocate(size));
        if grown == Some(true) && sys::opened(at, size) {
            ALLOCATED.fetch_max(size, AcqRel);
        } else if end > allocated {
            return None;
        }
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
