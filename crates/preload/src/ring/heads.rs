//! First pages and first chunks of rings that share a file. Most threads never fill their first chunk. With a file
//! each, every thread would cost a mapping and several system calls; the rings of one heads file share one mapping,
//! which is opened in steps.
//!
//! The first rings of a process have separate files (`cutap_wire::ring::shared_head`).

use crate::sys::{self, mappings};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use cutap_wire::PAGE;
use cutap_wire::ring::{HEADS, SharedHead};

/// Rings whose chunks are allocated at a time.
const STEP: usize = 8;
/// Heads files of a process.
pub const FILES: usize = 1024;
/// The part that is open, and the part that is not.
const MAPPINGS: u32 = 2;

/// One heads file.
struct File {
    at: AtomicPtr<u8>,
    /// Bytes at its beginning that may be used.
    open: AtomicUsize,
}

static ALL: [File; FILES] =
    [const { File { at: AtomicPtr::new(core::ptr::null_mut()), open: AtomicUsize::new(0) } }; FILES];

/// The first page and the first chunk of a ring, allocated and mapped. `path` is that of the heads file. `None`: no
/// room, no descriptor or no mapping.
pub fn place(head: SharedHead, chunk_bytes: usize, path: &[u8]) -> Option<(*mut u8, *mut u8)> {
    let file = ALL.get(head.file as usize)?;
    let chunk = head.chunk(chunk_bytes as u32);
    let end = chunk + chunk_bytes;
    if end > file.open.load(Acquire) && !open(file, head, chunk_bytes, end, path) {
        return None;
    }
    let at = file.at.load(Acquire);
    // SAFETY: both lie in the open part of the mapping.
    (!at.is_null()).then(|| unsafe { (at.add(head.page()), at.add(chunk)) })
}

/// Makes the file usable up to `end` at least.
#[cold]
fn open(file: &File, head: SharedHead, chunk_bytes: usize, end: usize, path: &[u8]) -> bool {
    let all = HEADS as usize * (PAGE + chunk_bytes);
    let ahead = (end + (STEP - 1 - head.number as usize % STEP) * chunk_bytes).min(all);
    let opened_bytes = sys::with(path, sys::MADE, |on_disk| {
        let bytes = [ahead, end].into_iter().find(|bytes| on_disk.allocate(*bytes))?;
        let at = match file.at.load(Acquire) {
            at if !at.is_null() => at,
            _ => map(file, on_disk, all)?,
        };
        sys::opened(at, bytes).then_some(bytes)
    });
    opened_bytes.flatten().is_some_and(|bytes| {
        file.open.fetch_max(bytes, AcqRel);
        true
    })
}

fn map(file: &File, on_disk: &sys::File, bytes: usize) -> Option<*mut u8> {
    if !mappings::take(MAPPINGS) {
        return None;
    }
    let fresh = on_disk.map_closed(0, bytes);
    if fresh.is_null() {
        mappings::give_back(MAPPINGS);
        return None;
    }
    match file.at.compare_exchange(core::ptr::null_mut(), fresh, AcqRel, Acquire) {
        Ok(_) => Some(fresh),
        Err(other) => {
            // SAFETY: just mapped, and no other thread knows of it.
            unsafe { sys::unmap(fresh, bytes) };
            mappings::give_back(MAPPINGS);
            Some(other)
        }
    }
}

/// A forked child makes separate files. Its parent's stay mapped in it.
pub fn forked() {
    for file in ALL.iter().filter(|file| file.open.load(Relaxed) != 0 || !file.at.load(Relaxed).is_null()) {
        file.open.store(0, Relaxed);
        file.at.store(core::ptr::null_mut(), Relaxed);
    }
}
