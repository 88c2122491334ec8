//! This process's `process` page, and what is read from it and counted in it once it is there: `process` makes it.

use super::state::{MADE, NONE};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use cutap_wire::diagnostic::COUNTERS;
use cutap_wire::process::Process;

/// `NONE`, `MADE`, `FAILED`, or the thread that is making it.
pub(super) static STATE: AtomicU32 = AtomicU32::new(NONE);
/// The page of this process.
pub(super) static HERE: AtomicPtr<Process> = AtomicPtr::new(core::ptr::null_mut());
/// What was counted before there was a page.
pub(super) static EARLY: [AtomicU64; COUNTERS] = [const { AtomicU64::new(0) }; COUNTERS];

pub(super) struct Folder(pub UnsafeCell<([u8; 64], usize)>);
// SAFETY: written by the one thread that makes the folder, read once it is made.
unsafe impl Sync for Folder {}
/// The folder's name.
pub(super) static FOLDER: Folder = Folder(UnsafeCell::new(([0; 64], 0)));

/// Name of this process's folder in the run directory.
pub fn folder() -> &'static [u8] {
    // SAFETY: see `Folder`.
    let (bytes, len) = unsafe { &*FOLDER.0.get() };
    bytes.get(..*len).unwrap_or(&[])
}

/// True when the folder is there; does not make it.
pub fn is_made() -> bool {
    STATE.load(Acquire) == MADE
}

/// It, once it is there.
pub(super) fn page() -> Option<&'static Process> {
    // SAFETY: null or mapped permanently.
    unsafe { HERE.load(Acquire).as_ref() }
}

/// Counts what was not done, by its reason.
pub fn count(reason: usize, n: u64) {
    let counters = match page() {
        Some(p) if is_made() => &p.counters,
        _ => &EARLY,
    };
    if let Some(c) = counters.get(reason) {
        c.fetch_add(n, Relaxed);
    }
}

/// Rings made so far; one more is finished.
pub fn rings_made(n: u32) {
    if let Some(p) = page() {
        p.rings.fetch_max(n, AcqRel);
        p.finished.fetch_add(1, AcqRel);
    }
}

/// Path of the program.
pub fn exe() -> &'static [u8] {
    page().map_or(&[], |p| p.exe.split(|&b| b == 0).next().unwrap_or(&[]))
}
pub fn file_name() -> &'static [u8] {
    exe().rsplit(|&b| b == b'/').next().unwrap_or(&[])
}
