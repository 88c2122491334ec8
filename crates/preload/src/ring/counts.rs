//! Counting: one number for each slot and thread, and nothing else. The numbers lie in files of the process folder, so
//! that they are there however the process ends. A gate adds to them without a frame; here is the way of all other
//! calls.

use super::count_files::{Counts, MAPPED};
use super::thread_state::ThreadState;
use crate::process::page;
use crate::sys::{self, arch, mappings};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use cutap_wire::counts::{ENTRIES, FILES, HEAD, STEP};
use cutap_wire::diagnostic;

/// Slots that have a thunk: those with lower numbers, which are counted in the first of the files.
pub const THUNKS: usize = 65536;
/// Its open part, and the rest.
const MAPPINGS: u32 = 2;

/// Where in a thread state the numbers of thunks are.
pub const THUNK_COUNTS: usize = offset_of!(ThreadState, counts) + offset_of!(Counts, at);
/// Where those of runtime functions are.
pub const REPORTED: usize = THUNK_COUNTS + size_of::<*mut u8>();
/// See `Counts`.
pub const ROOM_FOR_REPORTED: usize = offset_of!(ThreadState, counts) + offset_of!(Counts, room_for_reported);

/// This thread's word for the gate: its numbers of thunks.
fn word() -> *mut *mut u8 {
    arch::counts().cast()
}

/// A forked child counts for itself.
pub fn forked() {
    // SAFETY: this thread's own word.
    unsafe { *word() = core::ptr::null_mut() };
}

/// One call more of a slot, of a thunk or of a runtime.
#[inline(always)]
pub fn add(thread_state: &mut ThreadState, slot: u32) {
    let (kind, n) = place_of(slot);
    let Some(&at) = thread_state.counts.at.get(kind) else { return };
    // SAFETY: null or a mapped file, whose head says how much of it is allocated.
    unsafe {
        if at.is_null() || n >= (*at.cast::<AtomicU32>()).load(Relaxed) {
            return grow(thread_state, kind, n);
        }
        let place = &*at.add(HEAD).cast::<AtomicU64>().add(n as usize);
        place.store(place.load(Relaxed) + 1, Relaxed);
    }
}

/// A call that was counted a moment ago was not the program's.
pub fn take_back(thread_state: &mut ThreadState, slot: u32) {
    let (kind, n) = place_of(slot);
    if let Some(&at) = thread_state.counts.at.get(kind)
        && value(thread_state, slot) > 0
    {
        // SAFETY: mapped and allocated, for it has been counted there.
        unsafe { (*at.add(HEAD).cast::<AtomicU64>().add(n as usize)).fetch_sub(1, Relaxed) };
    }
}

/// How many calls of a slot this thread has counted.
pub fn value(thread_state: &ThreadState, slot: u32) -> u64 {
    let (kind, n) = place_of(slot);
    let Some(&at) = thread_state.counts.at.get(kind) else { return 0 };
    // SAFETY: null or a mapped file, whose head says how much of it is allocated.
    unsafe {
        if at.is_null() || n >= (*at.cast::<AtomicU32>()).load(Relaxed) {
            return 0;
        }
        (*at.add(HEAD).cast::<AtomicU64>().add(n as usize)).load(Relaxed)
    }
}

/// In which of the files a slot is counted, and where.
#[inline(always)]
fn place_of(slot: u32) -> (usize, u32) {
    if slot < THUNKS as u32 { (0, slot) } else { (1, slot - THUNKS as u32) }
}

/// Makes room for a number, and counts one.
#[cold]
fn grow(thread_state: &mut ThreadState, kind: usize, n: u32) {
    let signals = sys::block_signals();
    if make_room(thread_state, kind, n).is_some() {
        add(thread_state, n + if kind == 0 { 0 } else { THUNKS as u32 });
    } else {
        page::count(diagnostic::NOT_COUNTED, 1);
    }
    sys::restore_signals(signals);
}

fn make_room(thread_state: &mut ThreadState, kind: usize, n: u32) -> Option<()> {
    if n >= ENTRIES {
        return None;
    }
    let mut path = thread_state.path();
    path.push(b"/t").number(thread_state.ring.into()).push(b".").push(FILES.get(kind)?.as_bytes());
    let entries = (n + 1).next_multiple_of(STEP).min(ENTRIES);
    let bytes = HEAD + entries as usize * 8;
    let at = thread_state.counts.at.get_mut(kind)?;
    // All of it, once; what is not allocated cannot be touched.
    if at.is_null() && !mappings::take(MAPPINGS) {
        return None;
    }
    let here = sys::with(path.bytes(), sys::MADE, |file| match file.allocate(bytes) {
        true if at.is_null() => file.map_closed(0, MAPPED),
        true => *at,
        false => core::ptr::null_mut(),
    });
    let here = here.filter(|here| !here.is_null());
    let open = here.is_some_and(|here| sys::opened(here, bytes));
    if !open && at.is_null() {
        // SAFETY: just mapped. Not even the words that say how much room there is can be used.
        here.into_iter().for_each(|here| unsafe { sys::unmap(here, MAPPED) });
        mappings::give_back(MAPPINGS);
    }
    let here = here.filter(|_| open)?;
    *at = here;
    // SAFETY: mapped and allocated.
    unsafe { (*at.cast::<AtomicU32>()).store(entries, Release) };
    if kind == 1 {
        thread_state.counts.room_for_reported = entries;
    }
    Some(())
}

/// From now on the gate finds the numbers of a thread state, this thread's.
pub fn show_gate(thread_state: &ThreadState) {
    // SAFETY: this thread's own word.
    unsafe { *word() = thread_state.counts.at.first().copied().unwrap_or(core::ptr::null_mut()) };
}
