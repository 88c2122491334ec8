//! Which functions of a shared runtime need not be reported by the runtime itself: those whose every call comes through
//! a slot and, where calls are recorded, makes a call of the driver, by which one that came another way would be
//! noticed. Their flag goes off, for a report costs as much as the call's own records, and tells nothing that the slot
//! does not.
//!
//! A function of which one call came another way is reported until exit, and where a word may lead past its slot all
//! functions are reported again. What remains are libraries that are opened and call before any look-up, which are
//! missed in every layer, and listed; and the driver's calls tell even those: when the runtime makes one and no call is
//! open, all is reported again.
//!
//! Limits, which nothing counts. A function that had 16 calls by bindings or look-ups may be called by an address
//! that no route handed out. Then the calls up to the first one that makes a driver call are missed. Under `-C` all
//! are missed.

use super::function::ENOUGH;
use super::instances::{ALL, Function, Instance};
use crate::ring::counts;
use crate::ring::thread_state::ThreadState;
use crate::slots::table;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};

/// As a number of such calls: one came another way.
const OTHERS: u32 = u32::MAX;

/// So often a call of the driver may tell that one was not seen: a switch in the middle of a call does, too.
const PAST: u32 = 8;

/// There are words that could not be rewritten, or a profiler is here: what it switches on in the driver's flags
/// reaches it by the runtime's reports alone.
static NEVER: AtomicBool = AtomicBool::new(false);
/// Code of the runtime of which functions are quiet: first address, length. One of a process. The fast frames look at
/// it.
#[unsafe(no_mangle)]
static CUTAP_QUIET: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// True for a driver call of such a runtime. If no call is open, one of the runtime's was not seen.
#[inline(always)]
pub fn is_suppressed_runtime(caller: usize) -> bool {
    let [low, len] = &CUTAP_QUIET;
    caller.wrapping_sub(low.load(Relaxed)) < len.load(Relaxed)
}

/// Takes the place; false: another runtime has it.
fn claim(i: &Instance) -> bool {
    let [low, len] = &CUTAP_QUIET;
    let (first, bytes) = i.text();
    let claimed = low.compare_exchange(0, first, AcqRel, Acquire);
    if claimed.is_ok() {
        len.store(bytes, Release);
    }
    claimed.is_ok() || claimed == Err(first)
}

/// A call that came through a slot, and was reported, ends; `driver`: there were recorded calls inside.
#[inline(always)]
pub fn through_slot(i: &Instance, id: usize, f: &Function, driver: bool) {
    let so_far = f.bound();
    if so_far == OTHERS {
        return;
    }
    match driver {
        true => another(i, id, f, so_far + 1),
        // One that came another way would be noticed by nothing.
        false => another_way(f),
    }
}

#[inline(never)]
fn another(i: &Instance, id: usize, f: &Function, so_far: u32) {
    // Threads may count one call less, which does no harm.
    f.set_bound(so_far.min(ENOUGH));
    // A launch's report names the kernel.
    if so_far >= ENOUGH && !f.launch.load(Relaxed) && !NEVER.load(Relaxed) && claim(i) {
        i.stop_reports(id);
    }
}

/// A report of a call that came another way.
#[inline(always)]
pub fn another_way(f: &Function) {
    if f.bound() != OTHERS {
        f.set_bound(OTHERS);
    }
}

/// A report while calls are only counted: have all that this thread had come through the slot, where they are counted
/// too?
#[cold]
pub fn counted(i: &Instance, id: usize, f: &Function, thread_state: &ThreadState, slot: u32, name: &[u8]) {
    let slot_calls = table::find(i.object.load(Relaxed), name).map_or(0, |twin| counts::value(thread_state, twin));
    match counts::value(thread_state, slot) {
        reported if slot_calls < reported => another_way(f),
        reported => another(i, id, f, reported.min(ENOUGH.into()) as u32),
    }
}

/// A word may lead past its slot, for a time: all is reported again.
pub fn resume_all() {
    for i in ALL.iter().take_while(|i| i.object.load(Acquire) != 0) {
        for (id, f) in i.functions.iter().enumerate() {
            if f.bound() == ENOUGH {
                f.set_bound(0);
                i.resume_reports(id);
            }
        }
    }
}

/// A driver call tells that a call of the runtime was not seen: some address leads past a slot.
#[cold]
pub fn slot_bypassed() {
    static SO_FAR: AtomicU32 = AtomicU32::new(0);
    match SO_FAR.fetch_add(1, Relaxed) {
        0..PAST => resume_all(),
        _ => disable(),
    }
}

/// Everything is reported from now on.
#[cold]
pub fn disable() {
    if !NEVER.swap(true, Relaxed) {
        let [_, len] = &CUTAP_QUIET;
        len.store(0, Relaxed);
        resume_all();
    }
}
