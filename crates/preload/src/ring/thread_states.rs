//! The states of all threads, and how a thread gets one. When a thread dies, the kernel marks the robust mutex in its
//! ring, and the next new thread takes the thread state over.

use super::thread_state::{ThreadState, existing, word};
use super::{chunks, counts, heads, open_ranges, owner, reserve};
use crate::process::{folder, fork, names, page, run, vfork_word};
use crate::sys::stack::Stack;
use crate::sys::{self, Opened, Table, mappings};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use cutap_wire::names::{Name, kind};
use cutap_wire::{control, diagnostic};

/// Thread states at most: `identity` has 16 bits for the number of one.
const MAX: usize = 65_534;
const _: () =
    assert!((MAX - cutap_wire::ring::OWN_FILES as usize).div_ceil(cutap_wire::ring::HEADS as usize) <= heads::FILES);
#[unsafe(link_section = ".bss.cutap_tables")]
static THREAD_STATES: Table<AtomicPtr<ThreadState>, MAX> =
    Table([const { AtomicPtr::new(core::ptr::null_mut()) }; MAX]);
static OPENED: Opened = Opened::all();
static COUNT: AtomicU32 = AtomicU32::new(0);

/// At start: there is no thread state.
pub fn close() {
    OPENED.close(&THREAD_STATES);
}

/// Thread states that share a mapping.
const SLAB: usize = 32;
static SLABS: [AtomicPtr<ThreadState>; MAX.div_ceil(SLAB)] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX.div_ceil(SLAB)];

/// Memory for a thread state, by its number. It is all zero, and no other thread has the number.
fn memory(n: u32) -> Option<*mut ThreadState> {
    let slab = SLABS.get(n as usize / SLAB)?;
    let mut at = slab.load(Acquire);
    if at.is_null() {
        let bytes = SLAB * size_of::<ThreadState>();
        let fresh = if mappings::take(1) { sys::pages(bytes).cast::<ThreadState>() } else { core::ptr::null_mut() };
        if fresh.is_null() {
            return None;
        }
        at = match slab.compare_exchange(core::ptr::null_mut(), fresh, AcqRel, Acquire) {
            Ok(_) => fresh,
            Err(existing) => {
                // SAFETY: just mapped, and no other thread knows of it.
                unsafe { sys::unmap(fresh.cast(), bytes) };
                mappings::give_back(1);
                existing
            }
        };
    }
    // SAFETY: inside the slab.
    Some(unsafe { at.add(n as usize % SLAB) })
}
/// In `tid`: a new thread is taking the thread state over, and its mutex is still the dead one's.
const CLAIMED: u32 = 1 << 31;
/// Marks the word while the thread state is being made.
const MAKING: *mut ThreadState = core::ptr::without_provenance_mut(1);

/// This thread's state, made at its first use. `None`: this call is not recorded, and why is counted.
#[inline(always)]
pub fn current() -> Option<&'static mut ThreadState> {
    // SAFETY: this thread's own word.
    let pointer = unsafe { *word() };
    if pointer as usize > 1 {
        // SAFETY: the thread state is this thread's, made below; thread states are never given back.
        let thread_state = unsafe { &mut *pointer };
        if thread_state.generation == fork::generation() {
            return Some(thread_state);
        }
    }
    acquire()
}

#[cold]
fn acquire() -> Option<&'static mut ThreadState> {
    // SAFETY: this thread's own word.
    let word = unsafe { &mut *word() };
    if *word == MAKING {
        page::count(diagnostic::NESTED_IN_START, 1);
        return None;
    }
    let child = vfork_word::is_child();
    if child && run::flags() & control::NO_FOLLOW != 0 {
        return None;
    }
    if child && vfork_word::goes_without() {
        page::count(diagnostic::NO_RING, 1);
        return None;
    }
    let signals = sys::block_signals();
    *word = MAKING;
    let pointer = if child { lend() } else { take_over().or_else(new) };
    *word = match pointer {
        Some(pointer) => pointer,
        None => {
            page::count(diagnostic::NO_RING, 1);
            core::ptr::null_mut()
        }
    };
    sys::restore_signals(signals);
    // SAFETY: just made, this thread's.
    let thread_state = pointer.map(|pointer| unsafe { &mut *pointer })?;
    if !child && open_ranges::inherit(&mut thread_state.ranges) {
        open_ranges::AFTER_FORK.call();
    }
    if HAS_ENDED_CAPTURED.load(Relaxed) && HAS_ENDED_CAPTURED.swap(false, AcqRel) {
        open_ranges::CAPTURED_CHANGED.call();
    }
    Some(thread_state)
}

/// Captured ranges of a dead thread have ended, and `CAPTURED_CHANGED` was not called since.
static HAS_ENDED_CAPTURED: AtomicBool = AtomicBool::new(false);

/// Thread states that a new thread looks at: with thousands of live threads, a look at all of them would make each
/// start slower.
const LOOKS: usize = 64;
/// Where the last look ended.
static LOOKED: AtomicU32 = AtomicU32::new(0);

/// A thread state whose thread is dead. With more than `LOOKS` thread states, each look continues where the one before
/// ended.
fn take_over() -> Option<*mut ThreadState> {
    let me = sys::gettid();
    let count = (COUNT.load(Acquire) as usize).min(MAX);
    let probes = count.min(LOOKS);
    let from = if count > LOOKS { LOOKED.fetch_add(LOOKS as u32, Relaxed) as usize % count } else { 0 };
    for n in (from..from + probes).map(|n| if n < count { n } else { n - count }) {
        let Some(slot) = THREAD_STATES.get(n) else { continue };
        let pointer = slot.load(Acquire);
        if pointer.is_null() {
            continue;
        }
        // SAFETY: thread states live permanently; only atomics of one that may be another thread's are read.
        let (tid, header) = unsafe { (&(*pointer).tid, (*pointer).header) };
        let was = tid.load(Acquire);
        if was & CLAIMED != 0 {
            continue;
        }
        // SAFETY: the header stays mapped.
        let dead = was == me || unsafe { (*header).abandoned() };
        if dead && tid.compare_exchange(was, me | CLAIMED, AcqRel, Relaxed).is_ok() {
            // SAFETY: ours now.
            let thread_state = unsafe { &mut *pointer };
            thread_state.inside = false;
            thread_state.changing = false;
            thread_state.depth = 0;
            thread_state.python = 0;
            thread_state.nodes.clear();
            let captured = thread_state.ranges.clear();
            if captured > 0 {
                open_ranges::end_captured(captured);
                HAS_ENDED_CAPTURED.store(true, Release);
            }
            thread_state.stack = Stack::none();
            // The dead thread cannot finish a record any more.
            reserve::give_up(thread_state);
            owner::own(thread_state, me);
            tell_name(me);
            tid.store(me, Release);
            reserve::owned(thread_state, me);
            return Some(pointer);
        }
    }
    None
}

/// Tells what this thread is called, before its first record is there. Most threads have the program's name, which says
/// nothing; a program may start millions.
fn tell_name(tid: u32) {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let mut name = [0; sys::THREAD_NAME + 1];
    let name = sys::thread_name(&mut name);
    let program = page::file_name();
    // The kernel cuts a name.
    let programs = program.get(..sys::THREAD_NAME).unwrap_or(program);
    if !name.is_empty() && name != programs && TOLD.fetch_add(1, Relaxed) < MOST_NAMES {
        names::write(&Name { kind: kind::THREAD, ticks: 0, a: tid.into(), b: 0, c: 0, s: name, t: &[] });
    }
}

/// Threads of a process whose names are told.
const MOST_NAMES: u32 = 1 << 16;

/// CLOCK_MONOTONIC nanoseconds of the last failure to make a ring, and how many there were one after the other: no try
/// a call, and the rarer the longer it lasts. Often it has ended immediately: another thread has closed all files in
/// the middle of it.
static FAILED_AT: AtomicU64 = AtomicU64::new(0);
static FAILURES: AtomicU32 = AtomicU32::new(0);
/// After the first one; twice as long after each further one, up to half a second.
const PAUSE_NS: u64 = 1_000_000;
const LONGEST: u32 = 9;

fn new() -> Option<*mut ThreadState> {
    let failures = FAILURES.load(Relaxed);
    let pause = PAUSE_NS << failures.saturating_sub(1).min(LONGEST);
    if failures != 0 && sys::clock(sys::MONOTONIC).wrapping_sub(FAILED_AT.load(Relaxed)) < pause {
        return None;
    }
    let created = (folder::ensure_folder() && folder::settled()).then(|| create_thread_state(sys::gettid())).flatten();
    if created.is_some() {
        FAILURES.store(0, Relaxed);
    } else {
        FAILED_AT.store(sys::clock(sys::MONOTONIC), Relaxed);
        FAILURES.store(failures.saturating_add(1), Relaxed);
    }
    created
}

/// A thread state for the thread `tid`; 0: for one that comes later.
fn create_thread_state(tid: u32) -> Option<*mut ThreadState> {
    let n = COUNT.fetch_add(1, AcqRel);
    let pointer = if OPENED.reach(&THREAD_STATES, n as usize) { memory(n) } else { None };
    let has_ring = pointer.is_some_and(|pointer| {
        // SAFETY: this number's memory, all zero, which is a valid thread state.
        let thread_state = unsafe { &mut *pointer };
        thread_state.generation = fork::generation();
        thread_state.tid.store(tid, Relaxed);
        thread_state.ring = n;
        let has_ring = chunks::create(thread_state);
        if !has_ring {
            // SAFETY: no other thread knows of the thread state; the next one with this number finds zeros.
            unsafe { pointer.write_bytes(0, 1) };
        }
        has_ring
    });
    if !has_ring {
        // The number goes back if it is still the last; else it stays without a ring.
        let _ = COUNT.compare_exchange(n + 1, n, AcqRel, Relaxed);
        return None;
    }
    // SAFETY: as above.
    let thread_state = unsafe { &mut *pointer? };
    if tid != 0 {
        owner::own(thread_state, tid);
        tell_name(tid);
    }
    page::rings_made(n + 1);
    THREAD_STATES.get(n as usize)?.store(thread_state, Release);
    pointer
}

/// Makes a second ring for this thread; null if there is no room. No other thread owns it or takes it over. `kept` is
/// for its header.
pub fn make_second_ring(tid: u32, kept: u32) -> *mut ThreadState {
    let bytes = size_of::<ThreadState>();
    let pointer =
        if mappings::take(1) { sys::pages(bytes).cast::<ThreadState>() } else { return core::ptr::null_mut() };
    // SAFETY: null, or fresh memory, all zero, which is a valid thread state.
    let is_made = unsafe { pointer.as_mut() }.is_some_and(|state| {
        let n = COUNT.fetch_add(1, AcqRel);
        (state.generation, state.ring) = (fork::generation(), n);
        state.tid.store(tid, Relaxed);
        if n as usize >= MAX || !chunks::create(state) {
            let _ = COUNT.compare_exchange(n + 1, n, AcqRel, Relaxed);
            return false;
        }
        // SAFETY: the header was just mapped.
        let header = unsafe { &*state.header };
        header.copies.store(kept, Relaxed);
        header.tid.store(tid, Relaxed);
        page::rings_made(n + 1);
        true
    });
    if !is_made {
        mappings::give_back(1);
        if !pointer.is_null() {
            // SAFETY: just mapped, and no other thread knows of it.
            unsafe { sys::unmap(pointer.cast(), bytes) };
        }
        return core::ptr::null_mut();
    }
    pointer
}

/// Chunks for a thread that can have no more soon, and rings for threads that can make none.
const CHUNKS: u32 = 16;
const SPARE: u32 = 16;

/// Makes what cannot be made later: a seccomp filter is about to be installed. Rings without an owner look like
/// those of threads that have ended, and new threads take them over.
pub fn lay_in() {
    if let Some(thread_state) = current() {
        chunks::lay_in(thread_state, CHUNKS);
    }
    if !folder::settled() {
        return;
    }
    let signals = sys::block_signals();
    let spare = || (0..COUNT.load(Acquire)).filter(|n| is_free(*n)).count() as u32;
    for _ in spare()..SPARE {
        if create_thread_state(0).is_none() {
            break;
        }
    }
    sys::restore_signals(signals);
}

fn is_free(n: u32) -> bool {
    let pointer = THREAD_STATES.get(n as usize).map_or(core::ptr::null_mut(), |slot| slot.load(Acquire));
    // SAFETY: null or a thread state, which stays, and so does its header.
    unsafe { pointer.as_ref().is_some_and(|pointer| (*pointer.header).abandoned()) }
}

/// A thread state for a child that has this process's memory, with a folder of the child's own.
fn lend() -> Option<*mut ThreadState> {
    let pointer = folder::ensure_folder().then(create_for_vfork_child).flatten();
    if pointer.is_none() {
        vfork_word::go_without();
    }
    pointer
}

/// Such a child writes nothing any more.
pub fn leave_vfork_state() {
    let Some(thread_state) = existing().filter(|thread_state| !thread_state.vfork_page.is_null()) else { return };
    // SAFETY: this thread's own word; its state, which only the child knows.
    unsafe {
        *word() = core::ptr::null_mut();
        owner::release_dead(thread_state);
    }
    counts::forked();
}

fn create_for_vfork_child() -> Option<*mut ThreadState> {
    let tid = sys::gettid();
    let (folder, page) = folder::lend(tid)?;
    let pointer = sys::pages(size_of::<ThreadState>()).cast::<ThreadState>();
    if pointer.is_null() {
        return None;
    }
    // SAFETY: fresh memory, all zero, which is a valid thread state; the page was just mapped.
    unsafe {
        let thread_state = &mut *pointer;
        (thread_state.generation, thread_state.vfork_page, thread_state.folder) = (fork::generation(), page, folder);
        thread_state.tid.store(tid, Relaxed);
        if !chunks::create(thread_state) {
            sys::unmap(pointer.cast(), size_of::<ThreadState>());
            return None;
        }
        owner::own_without_lock(thread_state, tid);
        (*page).rings.store(1, Release);
    }
    Some(pointer)
}

/// A forked child has none of its parent's thread states. If another thread is the first to call, the word of the
/// thread that forked still leads to one. Frames go by that word, and find nothing there to write to.
pub fn forked() {
    // SAFETY: this thread's own word.
    let of_parent = Some(unsafe { *word() }).filter(|pointer| *pointer != MAKING);
    // SAFETY: null, or this thread's state in the parent, in memory that is the child's own since the fork.
    let thread_state = of_parent.and_then(|pointer| unsafe { pointer.as_ref() });
    open_ranges::forked(thread_state.map(|thread_state| &thread_state.ranges));
    // What its parent could not do, it may.
    FAILURES.store(0, Relaxed);
    let n = COUNT.swap(0, AcqRel) as usize;
    for slot in THREAD_STATES.iter().take(n.min(MAX)).filter(|slot| !slot.load(Relaxed).is_null()) {
        // SAFETY: null or a thread state in memory that is the child's own since the fork; no thread of the child has
        // written to it.
        if let Some(thread_state) = unsafe { slot.swap(core::ptr::null_mut(), AcqRel).as_mut() } {
            thread_state.writer.chunk = core::ptr::null_mut();
            thread_state.counts.unmap_parents();
        }
    }
    // Its parent's thread states stay where they are: words of threads lead to them.
    for slab in SLABS.iter().take(n.div_ceil(SLAB)) {
        slab.store(core::ptr::null_mut(), Release);
    }
    heads::forked();
    // SAFETY: this thread's own word.
    unsafe { *word() = core::ptr::null_mut() };
    counts::forked();
}
