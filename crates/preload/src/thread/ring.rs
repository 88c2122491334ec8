//! The ring of a block: making its file, opening the next chunk, and what to do when there is none.
//! Everything here is rare and runs with all signals blocked, so that no handler finds a ring half
//! changed; the waiting in between does not.
//!
//! Limits: the first recorded call of a thread takes about 4.5 KiB of its stack, later ones up to 1.5 KiB. With
//! hooks the first call of each function takes up to 7 KiB, later ones 2 KiB. The thread-local memory of the
//! preload (80 bytes) is part of each stack. With a shared runtime 12.9 or 13.0, `pthread_create` with
//! PTHREAD_STACK_MIN (16 KiB) then returns EINVAL; 20 KiB is enough.

use super::block::{MAPPED, ThreadState};
use super::{clock, heads};
use crate::loader::real::libcs_mutex;
use crate::start::{page, path, run, switch};
use crate::sys::{self, mappings};
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_wire::record::kind;
use cutap_wire::ring::{
    CHUNK_HEADER, ChunkHeader, ChunkWriter, FREE, FULL, OWNER_DIED, RingHeader, chunk_offset, shared_head,
};
use cutap_wire::{MAGIC, PAGE, VERSION, control, diagnostic};

/// How long a writer believes in a collector whose heartbeat does not move.
const PATIENCE_NS: u64 = 200_000_000;

/// How long a writer waits for a collector that lives and does not empty this ring: it may not be able to.
const MOST_NS: u64 = 3_000_000_000;

/// What is left of a disk is for the first chunks of threads and for names.
const LAST_ROOM: u64 = 2 << 20;

/// Makes the first page of a ring, and its first chunk if calls are recorded. The first record opens the chunk.
pub fn make(block: &mut ThreadState) -> bool {
    let bytes = run::chunk_bytes();
    let shared = shared_head(block.ring).filter(|_| switch::recording() && block.lent.is_null());
    let made = match shared {
        Some(head) => {
            let mut path = block.path();
            path.push(b"/h").number(head.file.into()).push(b".heads");
            heads::place(head, bytes as usize, path.bytes())
        }
        None => own_file(block, bytes),
    };
    block.shares = shared.is_some();
    let Some((page, chunk)) = made else { return false };
    let header = page.cast::<RingHeader>();
    // SAFETY: a fresh page of our file.
    unsafe {
        (&raw mut (*header).version).write(VERSION);
        (&raw mut (*header).chunk_bytes).write(bytes);
        if !chunk.is_null() {
            (*header).chunks.store(1, Relaxed);
            block.mapped[0] = (1, chunk);
        }
        (*header).magic.store(MAGIC, Release);
    }
    block.header = header;
    true
}

/// The same in a file of the ring's own: page and chunk in one mapping. While cutap opens a file, it holds the first
/// free descriptor for a moment, so this opens the file only once. The chunk is null if there is none.
fn own_file(block: &ThreadState, chunk_bytes: u32) -> Option<(*mut u8, *mut u8)> {
    if !mappings::take(1) {
        return None;
    }
    let (offset, end) = (chunk_offset(0, chunk_bytes), chunk_offset(1, chunk_bytes));
    // An earlier try may have left the file without a header.
    let made = sys::with(path(block).bytes(), sys::MADE, |file| {
        let page = if switch::recording() && file.allocate(end) { file.map(0, end) } else { core::ptr::null_mut() };
        if page.is_null() {
            return Some((file.first_page()?, core::ptr::null_mut()));
        }
        // SAFETY: inside the mapping.
        Some((page, unsafe { page.add(offset) }))
    });
    let made = made.flatten();
    if made.is_none() {
        mappings::give_back(1);
    }
    made
}

/// The file of a block's ring.
fn path(block: &ThreadState) -> path::Path {
    let mut path = block.path();
    path.push(b"/t").number(u64::from(block.ring)).push(b".ring");
    path
}

/// Makes this thread the owner: a robust mutex, which the kernel marks when the thread dies.
pub fn own(block: &mut ThreadState, tid: u32) {
    use crate::sys::libc::*;
    let mut attributes = [0u64; 8];
    let a = attributes.as_mut_ptr().cast();
    // SAFETY: the header is mapped; the mutex lies in it and was held by nobody alive.
    unsafe {
        let header = &*block.header;
        header.tid.store(tid, Relaxed);
        header.owner.word.store(0, Relaxed);
        let m = (&raw const header.owner).cast_mut().cast();
        let made = match (mutexattr_init(), mutexattr_setrobust(), mutexattr_setpshared(), libcs_mutex()) {
            (Some(init), Some(robust), Some(shared), Some((make, lock))) => {
                init(a) == 0 && robust(a, 1) == 0 && shared(a, 1) == 0 && make(m, a) == 0 && lock(m) == 0
            }
            _ => false,
        };
        // libc believes a child by a raw clone to be the thread that it is a copy of; the kernel does not.
        if made && header.owner.word.load(Relaxed) != tid {
            header.owner.word.store(tid, Release);
        }
        if !made {
            // Never seen as dead: its ring is not used again.
            header.owner.word.store(tid, Release);
        }
    }
}

/// The same for a child by vfork: libc's list of what a thread holds is its parent's, and says nothing of the child's
/// end. Whoever comes back from vfork says it.
pub fn own_without_lock(block: &mut ThreadState, tid: u32) {
    // SAFETY: the header is mapped.
    let header = unsafe { &*block.header };
    header.tid.store(tid, Relaxed);
    header.owner.word.store(tid, Release);
}

/// The child of a block has ended: its ring is marked, as the kernel marks others, and its memory is given back.
///
/// # Safety
/// The child's block, which nobody uses any more.
pub unsafe fn bury(b: *mut ThreadState) {
    // SAFETY: the caller's promise: all of these are mappings that this block alone knows.
    unsafe {
        let block = &mut *b;
        let header = &*block.header;
        header.owner.word.fetch_or(OWNER_DIED, Release);
        for (_, chunk) in block.mapped.into_iter().filter(|m| m.0 != 0 && !m.1.is_null()) {
            sys::unmap(chunk, header.chunk_bytes as usize);
        }
        // The first page is in the mapping of the first chunk, if there is one.
        mappings::give_back((block.mapped.iter().filter(|m| m.0 != 0).count() as u32).max(1));
        block.counts.give_back();
        sys::unmap(block.lent.cast(), PAGE);
        sys::unmap(block.header.cast(), PAGE);
        sys::unmap(b.cast(), size_of::<ThreadState>());
    }
}

/// Opens the next chunk for a record of this kind and length; false when there is none to be had. The
/// record is dropped then, and counted here.
#[cold]
pub fn next_chunk(block: &mut ThreadState, kind: u8, words: u32) -> bool {
    let done = open_chunk(block, kind, words);
    if !done {
        let lossy = run::flags() & control::LOSSY != 0;
        page::count(
            match kind {
                kind::ENTER if lossy => diagnostic::CALL_DROPPED_LOSSY,
                kind::ENTER => diagnostic::CALL_DROPPED,
                kind::EXIT | kind::UNWOUND => diagnostic::END_DROPPED,
                kind::LOOKUP if lossy => diagnostic::EVENT_DROPPED_LOSSY,
                // Counted once for all pieces, where they are written.
                kind::STACK | kind::MEMORY => return false,
                _ => diagnostic::RECORD_DROPPED,
            },
            1,
        );
    }
    done
}

fn open_chunk(block: &mut ThreadState, kind: u8, words: u32) -> bool {
    // A signal handler's call inside this function, or a vfork child, must not wait.
    let nested = block.changing;
    let started = sys::clock(sys::MONOTONIC);
    let sequence = block.sequence;
    // A process that ends here has a call that nothing else reports.
    let mut waits = false;
    let mut wait = |now: bool| {
        if now != waits && kind == kind::ENTER {
            page::count(diagnostic::CALL_WAITED, if now { 1 } else { u64::MAX });
            waits = now;
        }
    };
    loop {
        let signals = sys::block_signals();
        block.changing = true;
        // A signal handler may have opened one while we waited: it is as good for us.
        // SAFETY: our own block, read again because handlers write it behind the compiler's back.
        let opened = match unsafe { (&raw const block.sequence).read_volatile() } == sequence {
            true => {
                let in_vain = block.in_vain || sys::clock(sys::MONOTONIC).saturating_sub(started) > MOST_NS;
                block.in_vain = in_vain;
                try_next(block, kind, words, !nested && !in_vain && worth_waiting(started))
            }
            false => Some(true),
        };
        if !nested {
            block.changing = false;
        }
        sys::restore_signals(signals);
        match opened {
            Some(done) => {
                wait(false);
                return done;
            }
            None => {
                wait(true);
                block.changing = true;
                sys::sleep_us(200);
                block.changing = nested;
            }
        }
    }
}

/// The last heartbeat of a collector that was found dead: it is not waited for again.
static LAST_BEAT: AtomicU64 = AtomicU64::new(u64::MAX);

/// True while it may help to wait: somebody drains, or copies what would be written over.
fn worth_waiting(started: u64) -> bool {
    let Some(c) = run::control() else { return false };
    let now = sys::clock(sys::MONOTONIC);
    if c.flags.load(Relaxed) & control::FLIGHT != 0 {
        return now.saturating_sub(c.copying.load(Acquire)) < PATIENCE_NS;
    }
    let beat = c.heartbeat.load(Acquire);
    if c.collector.load(Acquire) != control::COLLECTOR_ATTACHED || beat == LAST_BEAT.load(Relaxed) {
        return false;
    }
    let alive = now.saturating_sub(beat.max(started)) < PATIENCE_NS;
    if !alive {
        LAST_BEAT.store(beat, Relaxed);
    }
    alive
}

/// `None`: wait and come again.
fn try_next(block: &mut ThreadState, kind: u8, words: u32, may_wait: bool) -> Option<bool> {
    // SAFETY: the header is mapped.
    let header = unsafe { &*block.header };
    let flags = run::flags();
    let lossy = flags & control::LOSSY != 0;
    // In a lossy ring a call that was recorded ends there too, so that no call looks unfinished.
    let ends = lossy && !matches!(kind, kind::ENTER | kind::LOOKUP | kind::STACK | kind::MEMORY);
    if flags & (control::LOSSY | control::FLIGHT) == 0 {
        // Whoever drains may take it while we wait.
        close(block, header.chunk_bytes);
    }
    let free = block.mapped.iter().position(|&(n, p)| {
        // SAFETY: mapped chunks of our ring.
        n != 0 && !p.is_null() && unsafe { (*p.cast::<ChunkHeader>()).state.load(Acquire) } == FREE
    });
    block.in_vain &= free.is_none();
    if free.is_none() && ends && lengthen(block, header.chunk_bytes, words) {
        return Some(true);
    }
    let chunks = header.chunks.load(Relaxed);
    let full = chunks >= run::max_chunks();
    let mut bytes = header.chunk_bytes;
    let at = match free.and_then(|i| block.mapped.get(i)).map(|&(_, p)| p) {
        Some(p) => p,
        None if flags & control::FLIGHT != 0 => {
            let added = if full { None } else { add_chunk(block, header, chunks) };
            match added {
                Some(p) => p,
                None if may_wait && chunks > 0 => return None,
                None => match oldest(block) {
                    Some(p) => p,
                    None => return Some(false),
                },
            }
        }
        None if lossy && full && !ends => return Some(false),
        None if !lossy && full && may_wait => return None,
        None => match add_chunk(block, header, chunks) {
            Some(p) => {
                if lossy && full {
                    bytes = CHUNK_HEADER as u32 + words * 8;
                }
                p
            }
            // Another may come free, as long as there is one that somebody reads.
            None if !lossy && may_wait && chunks > 0 => return None,
            None => return Some(false),
        },
    };
    let first_call = close(block, header.chunk_bytes);
    let (ticks, monotonic) = clock::pair();
    block.sequence += 1;
    let tid = header.tid.load(Relaxed);
    // SAFETY: the chunk is ours: free, new, or the oldest of those that nobody takes.
    block.writer = unsafe { ChunkWriter::open(at.cast(), bytes, block.sequence, tid, first_call, ticks, monotonic) };
    Some(true)
}

/// Ends the current chunk, also one that was opened for less than it holds; the number of calls so far.
fn close(block: &mut ThreadState, chunk_bytes: u32) -> u32 {
    if block.writer.chunk.is_null() {
        return 0;
    }
    block.writer.bytes = chunk_bytes;
    // SAFETY: the current chunk is mapped.
    unsafe {
        block.writer.close();
        (block.writer.head() >> 32) as u32
    }
}

/// A chunk that was opened for the ends of calls alone takes one more of them, if it has room.
fn lengthen(block: &mut ThreadState, chunk_bytes: u32, words: u32) -> bool {
    if block.writer.chunk.is_null() || block.writer.bytes == chunk_bytes {
        return false;
    }
    // SAFETY: the current chunk is mapped.
    let bytes = unsafe { block.writer.head() } as u32 + words * 8;
    if bytes > chunk_bytes {
        return false;
    }
    block.writer.bytes = bytes;
    true
}

/// The oldest chunk that is full, to be written over.
fn oldest(block: &ThreadState) -> Option<*mut u8> {
    let waiting = block.writing.0 as usize;
    // SAFETY: the header is mapped.
    let bytes = unsafe { (*block.header).chunk_bytes } as usize;
    let mut found: Option<(u64, *mut u8)> = None;
    for &(n, p) in &block.mapped {
        // A record that a signal handler interrupted may be waiting for its words there.
        if n == 0 || p.cast() == block.writer.chunk || waiting.wrapping_sub(p as usize) < bytes {
            continue;
        }
        // SAFETY: a mapped chunk of our ring.
        let (state, sequence) = unsafe {
            let c = &*p.cast::<ChunkHeader>();
            (c.state.load(Relaxed), c.sequence.load(Relaxed))
        };
        if state == FULL && found.is_none_or(|f| sequence < f.0) {
            found = Some((sequence, p));
        }
    }
    found.map(|f| f.1)
}

/// One more chunk at the end of the file, allocated before it is published.
fn add_chunk(block: &mut ThreadState, header: &RingHeader, n: u32) -> Option<*mut u8> {
    let path = path(block);
    let (offset, bytes) = (chunk_offset(n, header.chunk_bytes), header.chunk_bytes as usize);
    let place = chunk_mapping(block, bytes, n)?;
    let over = block.mapped.get(place).filter(|m| m.0 != 0).map_or(core::ptr::null_mut(), |m| m.1);
    // A ring that shares its head has no file before its second chunk.
    let ways = if block.shares { sys::MADE } else { &[sys::Open::ReadWrite][..] };
    let p = sys::with(path.bytes(), ways, |file| {
        if n > 0 && file.room() < LAST_ROOM || !file.allocate_part(offset, bytes) {
            return core::ptr::null_mut();
        }
        // A thread that has filled one will fill another; most never do.
        // SAFETY: a full chunk's mapping that only this block knows.
        if n == 0 { file.map(offset, bytes) } else { unsafe { file.map_whole(offset, bytes, over) } }
    });
    let Some(p) = p.filter(|p| !p.is_null()) else {
        mappings::give_back(u32::from(over.is_null()));
        return None;
    };
    header.chunks.store(n + 1, Release);
    if let Some(m) = block.mapped.get_mut(place) {
        *m = (n + 1, p);
    }
    Some(p)
}

/// Which entry of `mapped` the next chunk takes: an empty one, which costs a mapping, or that of the oldest chunk. No
/// reader frees that chunk any more, or it would have been taken.
fn chunk_mapping(block: &ThreadState, bytes: usize, n: u32) -> Option<usize> {
    let empty = block.mapped.iter().position(|m| m.0 == 0);
    if let Some(place) = empty
        && mappings::take(1)
    {
        return Some(place);
    }
    // A record that a signal handler interrupted may be waiting for its words in a chunk. A frame that a handler
    // interrupted may only have the address of the current chunk: there must be a chunk at that address at any moment,
    // full or not. The mapping of a shared head stays whole.
    let waiting = |at: *mut u8| (block.writing.0 as usize).wrapping_sub(at as usize) < bytes;
    let may_go = |place: usize| {
        let Some(&(of, at)) = block.mapped.get(place) else { return false };
        of != 0 && at.cast() != block.writer.chunk && !waiting(at) && !(block.shares && of == 1)
    };
    (0..MAPPED).map(|i| (n as usize + i) % MAPPED).find(|place| may_go(*place))
}
