//! The blocks of all threads, and how a thread comes to its own: when a thread dies, the kernel marks the robust mutex
//! in its ring, and the next new thread takes the block over.

use super::block::{ThreadState, existing, word};
use super::stack::Stack;
use super::{counts, fork, heads, owner, reserve, ring, vfork_word_x86_64 as vfork_word};
use crate::start::{names, page, process, run};
use crate::sys::{self, Opened, Table, mappings};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use cutap_wire::names::{Name, kind};
use cutap_wire::{control, diagnostic};

/// Blocks at most: `identity` has 16 bits for the number of one.
const MAX: usize = 65_534;
const _: () =
    assert!((MAX - cutap_wire::ring::OWN_FILES as usize).div_ceil(cutap_wire::ring::HEADS as usize) <= heads::FILES);
#[unsafe(link_section = ".bss.cutap_tables")]
static BLOCKS: Table<AtomicPtr<ThreadState>, MAX> = Table([const { AtomicPtr::new(core::ptr::null_mut()) }; MAX]);
static OPENED: Opened = Opened::all();
static COUNT: AtomicU32 = AtomicU32::new(0);

/// At start: there is no block.
pub fn close() {
    OPENED.close(&BLOCKS);
}

/// Blocks that share a mapping.
const SLAB: usize = 32;
static SLABS: [AtomicPtr<ThreadState>; MAX.div_ceil(SLAB)] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX.div_ceil(SLAB)];

/// Memory for a block, by its number. It is all zero, and no other thread has the number.
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
/// In `tid`: a new thread is taking the block over, and its mutex is still the dead one's.
const CLAIMED: u32 = 1 << 31;
/// Marks the word while the block is being made.
const MAKING: *mut ThreadState = core::ptr::without_provenance_mut(1);

/// This thread's block, made at its first use. `None`: this call is not recorded, and why is counted.
#[inline(always)]
pub fn current() -> Option<&'static mut ThreadState> {
    // SAFETY: this thread's own word.
    let b = unsafe { *word() };
    if b as usize > 1 {
        // SAFETY: the block is this thread's, made below; blocks are never given back.
        let block = unsafe { &mut *b };
        if block.generation == fork::generation() {
            return Some(block);
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
    let block = if child { lend() } else { take_over().or_else(new) };
    *word = match block {
        Some(b) => b,
        None => {
            page::count(diagnostic::NO_RING, 1);
            core::ptr::null_mut()
        }
    };
    sys::restore_signals(signals);
    // SAFETY: just made, this thread's.
    block.map(|b| unsafe { &mut *b })
}

/// Blocks that a new thread looks at: with thousands of live threads, a look at all of them would make each start
/// slower.
const LOOKS: usize = 64;
/// Where the last look ended.
static LOOKED: AtomicU32 = AtomicU32::new(0);

/// A block whose thread is dead. With more than `LOOKS` blocks, each look continues where the one before ended.
fn take_over() -> Option<*mut ThreadState> {
    let me = sys::gettid();
    let count = (COUNT.load(Acquire) as usize).min(MAX);
    let probes = count.min(LOOKS);
    let from = if count > LOOKS { LOOKED.fetch_add(LOOKS as u32, Relaxed) as usize % count } else { 0 };
    for n in (from..from + probes).map(|n| if n < count { n } else { n - count }) {
        let Some(slot) = BLOCKS.get(n) else { continue };
        let b = slot.load(Acquire);
        if b.is_null() {
            continue;
        }
        // SAFETY: blocks live permanently; only atomics of one that may be another thread's are read.
        let (tid, header) = unsafe { (&(*b).tid, (*b).header) };
        let was = tid.load(Acquire);
        if was & CLAIMED != 0 {
            continue;
        }
        // SAFETY: the header stays mapped.
        let dead = was == me || unsafe { (*header).abandoned() };
        if dead && tid.compare_exchange(was, me | CLAIMED, AcqRel, Relaxed).is_ok() {
            // SAFETY: ours now.
            let block = unsafe { &mut *b };
            block.inside = false;
            block.changing = false;
            block.depth = 0;
            block.stack = Stack::none();
            // The dead thread cannot finish a record any more.
            reserve::give_up(block);
            owner::own(block, me);
            tell_name(me);
            tid.store(me, Release);
            reserve::owned(block, me);
            return Some(b);
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
    let created = (process::ensure_folder() && process::settled()).then(|| make_block(sys::gettid())).flatten();
    if created.is_some() {
        FAILURES.store(0, Relaxed);
    } else {
        FAILED_AT.store(sys::clock(sys::MONOTONIC), Relaxed);
        FAILURES.store(failures.saturating_add(1), Relaxed);
    }
    created
}

/// A block for the thread `tid`; 0: for one that comes later.
fn make_block(tid: u32) -> Option<*mut ThreadState> {
    let n = COUNT.fetch_add(1, AcqRel);
    let b = if OPENED.reach(&BLOCKS, n as usize) { memory(n) } else { None };
    let has_ring = b.is_some_and(|b| {
        // SAFETY: this number's memory, all zero, which is a valid block.
        let block = unsafe { &mut *b };
        block.generation = fork::generation();
        block.tid.store(tid, Relaxed);
        block.ring = n;
        let has_ring = ring::create(block);
        if !has_ring {
            // SAFETY: no other thread knows of the block; the next one with this number finds zeros.
            unsafe { b.write_bytes(0, 1) };
        }
        has_ring
    });
    if !has_ring {
        // The number goes back if it is still the last; else it stays without a ring.
        let _ = COUNT.compare_exchange(n + 1, n, AcqRel, Relaxed);
        return None;
    }
    // SAFETY: as above.
    let block = unsafe { &mut *b? };
    if tid != 0 {
        owner::own(block, tid);
        tell_name(tid);
    }
    page::rings_made(n + 1);
    BLOCKS.get(n as usize)?.store(block, Release);
    b
}

/// Chunks for a thread that can have no more soon, and rings for threads that can make none.
const CHUNKS: u32 = 16;
const SPARE: u32 = 16;

/// Makes what cannot be made later: a seccomp filter is about to be installed. Rings without an owner look like
/// those of threads that have ended, and new threads take them over.
pub fn lay_in() {
    if let Some(block) = current() {
        ring::lay_in(block, CHUNKS);
    }
    if !process::settled() {
        return;
    }
    let signals = sys::block_signals();
    let spare = || (0..COUNT.load(Acquire)).filter(|n| is_free(*n)).count() as u32;
    for _ in spare()..SPARE {
        if make_block(0).is_none() {
            break;
        }
    }
    sys::restore_signals(signals);
}

fn is_free(n: u32) -> bool {
    let b = BLOCKS.get(n as usize).map_or(core::ptr::null_mut(), |slot| slot.load(Acquire));
    // SAFETY: null or a block, which stays, and so does its header.
    unsafe { b.as_ref().is_some_and(|b| (*b.header).abandoned()) }
}

/// A block for a child that has this process's memory, with a folder of the child's own.
fn lend() -> Option<*mut ThreadState> {
    let block = process::ensure_folder().then(make_lent).flatten();
    if block.is_none() {
        vfork_word::go_without();
    }
    block
}

/// Such a child writes nothing any more.
pub fn leave_lent() {
    let Some(b) = existing().filter(|b| !b.vfork_page.is_null()) else { return };
    // SAFETY: this thread's own word; its block, which only the child knows.
    unsafe {
        *word() = core::ptr::null_mut();
        owner::bury(b);
    }
    counts::forked();
}

fn make_lent() -> Option<*mut ThreadState> {
    let tid = sys::gettid();
    let (folder, page) = process::lend(tid)?;
    let b = sys::pages(size_of::<ThreadState>()).cast::<ThreadState>();
    if b.is_null() {
        return None;
    }
    // SAFETY: fresh memory, all zero, which is a valid block; the page was just mapped.
    unsafe {
        let block = &mut *b;
        (block.generation, block.vfork_page, block.folder) = (fork::generation(), page, folder);
        block.tid.store(tid, Relaxed);
        if !ring::create(block) {
            sys::unmap(b.cast(), size_of::<ThreadState>());
            return None;
        }
        owner::own_without_lock(block, tid);
        (*page).rings.store(1, Release);
    }
    Some(b)
}

/// A forked child has none of its parent's blocks. The word of the thread that forked still leads to one if another
/// thread is the first to call, and frames go by that word: they find nothing there to write to.
pub fn forked() {
    // What its parent could not do, it may.
    FAILURES.store(0, Relaxed);
    let n = COUNT.swap(0, AcqRel) as usize;
    for slot in BLOCKS.iter().take(n.min(MAX)).filter(|slot| !slot.load(Relaxed).is_null()) {
        // SAFETY: null or a block in memory that is the child's own since the fork; no thread of the child has written
        // to it.
        if let Some(b) = unsafe { slot.swap(core::ptr::null_mut(), AcqRel).as_mut() } {
            b.writer.chunk = core::ptr::null_mut();
            b.counts.unmap_parents();
        }
    }
    // Its parent's blocks stay where they are: words of threads lead to them.
    for slab in SLABS.iter().take(n.div_ceil(SLAB)) {
        slab.store(core::ptr::null_mut(), Release);
    }
    heads::forked();
    // SAFETY: this thread's own word.
    unsafe { *word() = core::ptr::null_mut() };
    counts::forked();
}
