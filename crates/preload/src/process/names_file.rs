//! The names stream, which `process` makes. Room is taken by adding to a counter of this process's own memory, so a
//! forked child knows how much of its parent's names is meant for it too, and copies that much.
//!
//! Limits: a process may launch kernels of 65,535 different names. Names of later kernels are written again at each
//! launch, until the file of names is full (256 MiB); then they are counted as not recorded.

use super::page::{self, count};
use super::path::Path;
use super::segments::{Addresses, Store, ahead_of, parts, segment};
use super::{clock, copy};
use crate::sys;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::names::{CELL, Cell, FILE, FILLER, FIXED, GROW, MAX_BYTES, Name, cell};

/// The names in the file, and those of a process that can make no file, in its own memory.
static IN_FILE: Store = Store::new();
static WITHOUT: Store = Store::new();
/// The file is in use.
static HAS_FILE: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// The parent's names and how much of them was taken at the fork.
static PARENT: Addresses = Addresses::none();
static PARENT_BYTES: AtomicUsize = AtomicUsize::new(0);

fn with<R>(how: &[sys::Open], then: impl FnOnce(&sys::File) -> R) -> Option<R> {
    let mut path = Path::process();
    path.push(b"/").push(FILE.as_bytes());
    sys::with(path.bytes(), how, then)
}

/// A file with so many bytes that may be used. A try before may have left one that is empty.
fn has_file(how: &[sys::Open], bytes: usize) -> bool {
    let map = |file: &sys::File| IN_FILE.reach(bytes, |start, length| file.map_closed(start, length));
    with(how, |file| file.allocate(bytes) && map(file)) == Some(true)
}

fn has_memory(bytes: usize) -> bool {
    WITHOUT.reach(bytes, |_, length| sys::closed_pages(length))
}

/// Makes the file; a forked child's begins with its parent's names.
pub fn create() -> bool {
    let is_open = has_file(sys::MADE, (PARENT_BYTES.load(Relaxed) + 1).next_multiple_of(GROW));
    if is_open {
        begin(&IN_FILE);
        HAS_FILE.store(true, Release);
    }
    is_open
}

/// The same in this process's own memory, where no file can be made.
pub fn create_in_memory() -> bool {
    let is_open = has_memory(ahead_of(PARENT_BYTES.load(Relaxed)));
    if is_open {
        begin(&WITHOUT);
    }
    is_open
}

fn begin(store: &Store) {
    let inherited = PARENT_BYTES.load(Relaxed);
    for (part, bytes) in parts(inherited) {
        if let (Some(from), Some(to)) = (PARENT.at(part.start), store.at(part.start)) {
            // SAFETY: both are open that far.
            unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) };
        }
    }
    NEXT.store(inherited, Release);
}

/// Brings the names of a process without a file into one. Where they stood they stay, for texts there are pointed to.
pub fn move_in() -> bool {
    let used_bytes = NEXT.load(Acquire);
    if !has_file(sys::MADE, (used_bytes + GROW).next_multiple_of(GROW)) {
        return false;
    }
    // Nearly all, before anybody, or a child that is forked meanwhile, looks there.
    for (part, bytes) in parts(used_bytes.min(WITHOUT.open())) {
        if let (Some(from), Some(to)) = (WITHOUT.at(part.start), IN_FILE.at(part.start)) {
            // SAFETY: both are open that far.
            unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) };
        }
    }
    HAS_FILE.store(true, Release);
    // Whoever was just taking a place, or had one before that, is still writing it there, a few words.
    sys::yield_now();
    let mut patience = PATIENCE;
    for (part, bytes) in parts(NEXT.load(Acquire).min(WITHOUT.open()).min(IN_FILE.open())) {
        if let (Some(from), Some(to)) = (WITHOUT.at(part.start), IN_FILE.at(part.start)) {
            move_late(from, to, bytes, &mut patience);
        }
    }
    true
}

/// Moves the names of a segment that were not yet finished when it was copied.
fn move_late(from: *mut u8, to: *mut u8, bytes: usize, patience: &mut u32) {
    // SAFETY: mapped permanently, and open that far; cells that are being written are looked at again.
    let (old, new) = unsafe { (core::slice::from_raw_parts(from, bytes), core::slice::from_raw_parts(to, bytes)) };
    let mut at = 0;
    while at < bytes {
        at += match (cell(old, at), cell(new, at)) {
            // Copied, or by somebody who knows the file.
            (_, Cell::Name(_, length)) => length,
            (Cell::Empty, Cell::Pending(length)) => length,
            (Cell::Name(_, length), _) => {
                // SAFETY: both are open that far; nobody reads the file before the process's page is there.
                unsafe { core::ptr::copy_nonoverlapping(from.add(at), to.add(at), length.min(bytes - at)) };
                length
            }
            (Cell::End, _) => break,
            _ if *patience > 0 => {
                sys::wait(PATIENCE - *patience);
                *patience -= 1;
                0
            }
            (Cell::Pending(length), _) => length,
            (Cell::Empty, _) => CELL,
        };
    }
}

/// How often it may yield while another thread writes its name.
const PATIENCE: u32 = 1000;

/// Writes a name; where its first string stands now, for as long as the process lives. Only once the folder is made.
pub fn write(name: &Name) -> Option<*const u8> {
    let place = take(name.cells() * CELL);
    let Some(place) = place else {
        count(diagnostic::NAME_DROPPED, 1);
        return None;
    };
    let stamped = Name { ticks: clock::ticks(), ..*name };
    // SAFETY: the cells were taken for it.
    unsafe {
        stamped.write(place);
        Some(place.add(FIXED))
    }
}

/// The same for a name whose first string is `bytes` bytes of the program's memory at `from`. What cannot be read any
/// more is left out at the end.
pub fn write_copy(name: &Name, from: usize, bytes: usize) -> Option<*const u8> {
    let Some(place) = take(Name::cells_of(bytes) * CELL) else {
        count(diagnostic::NAME_DROPPED, 1);
        return None;
    };
    let stamped = Name { ticks: clock::ticks(), ..*name };
    // SAFETY: the cells were taken for so many bytes.
    unsafe {
        stamped.write_filled(place, bytes, |to, room| copy::checked(from, to, room));
        Some(place.add(FIXED))
    }
}

fn take(bytes: usize) -> Option<*mut u8> {
    let in_file = HAS_FILE.load(Acquire);
    let store = if in_file { &IN_FILE } else { &WITHOUT };
    loop {
        let start = NEXT.fetch_add(bytes, Relaxed);
        let end = start + bytes;
        if end > MAX_BYTES {
            return None;
        }
        let target_bytes = ahead_of(end);
        if target_bytes > store.open() {
            // Two threads may both do it: twice does no harm.
            let more = if in_file { has_file(&[sys::Open::ReadWrite], target_bytes) } else { has_memory(target_bytes) };
            if !more && end > store.open() {
                return None;
            }
        }
        if segment(start) == segment(end - CELL) {
            return store.at(start);
        }
        // A text is one piece of memory. Behind the segment's end there is room for the longest.
        for at in (start..end).step_by(CELL) {
            // SAFETY: one of the cells that were taken.
            unsafe { FILLER.write(store.at(at)?) };
        }
    }
}

/// A forked child. One whose parent had no folder of its own yet inherits what its parent inherited.
pub fn forked() {
    let store = if HAS_FILE.swap(false, AcqRel) { &IN_FILE } else { &WITHOUT };
    if page::is_made() {
        PARENT_BYTES.store(NEXT.load(Relaxed).min(store.open()), Relaxed);
        store.leave_to(&PARENT);
    }
    IN_FILE.forget();
    WITHOUT.forget();
}
