//! What a flight recorder keeps of a chunk that it writes over: the calls on which later ones depend, and all calls of
//! the times in which a graph was captured. They are copied to a second ring of the same size, which no thread owns.
//!
//! The collector marks the records of objects that are destroyed. When the second ring is full and enough of it is
//! marked, the rest is copied to a third ring, which takes its place. Else the oldest chunk of the later half is
//! written over, and the calls in it are counted: what a program makes at its start is of most use.
//!
//! Everything here is rare and runs while the thread's chunks are changed: see `chunks`.

use super::chunks::{self, BEFORE_OVERWRITE, NextKept};
use super::counts::THUNKS;
use super::thread_state::ThreadState;
use super::thread_states;
use crate::process::capture_windows::Windows;
use crate::process::{page, run};
use crate::sys::{self, mappings};
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::kept_calls::{ContextCall, CopiedRecord, KeptCalls, KeptCallsSink, SourceChunk, Wanted};
use cutap_wire::record::{first_word, kind};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, FREE, KEPT, KEPT_NOT_VALID};

/// What is kept of the calls of each slot: four bits, one of [`CODES`].
static SLOTS: [AtomicU64; THUNKS / SLOTS_OF_WORD] = [const { AtomicU64::new(0) }; THUNKS / SLOTS_OF_WORD];
const SLOTS_OF_WORD: usize = 16;
const CODES: [Wanted; 5] = [
    Wanted::No,
    Wanted::Yes,
    Wanted::Context(ContextCall::Sets),
    Wanted::Context(ContextCall::Pushes),
    Wanted::Context(ContextCall::Pops),
];
/// Ticks to the record before, beyond which a record of the whole time must stand between them.
const NEAR_TICKS: u64 = 1 << 31;

/// Words of such a record.
const TIME_WORDS: u32 = 2;

/// Says which calls of a slot a flight recorder keeps.
pub fn keep_slot(slot: u32, wanted: Wanted) {
    BEFORE_OVERWRITE.set(keep);
    let code = CODES.iter().position(|code| *code == wanted).unwrap_or(0) as u64;
    if let Some(word) = SLOTS.get(slot as usize / SLOTS_OF_WORD) {
        word.fetch_or(code << (slot as usize % SLOTS_OF_WORD * 4), Relaxed);
    }
}

fn wanted_of(slot: u32) -> Wanted {
    let word = SLOTS.get(slot as usize / SLOTS_OF_WORD).map_or(0, |word| word.load(Relaxed));
    let code = word >> (slot as usize % SLOTS_OF_WORD * 4) & 0xf;
    CODES.get(code as usize).copied().unwrap_or(Wanted::No)
}

/// What is kept of a thread state.
pub struct KeptRing {
    /// The second ring, as that of a thread; null until the first call is kept.
    state: *mut ThreadState,
    calls: KeptCalls,
    /// Number of the chunk before its first one.
    before: u64,
    /// The ring that is not in use, after the first move; else null.
    spare: *mut ThreadState,
    /// Where the copies stand while the ring is moved.
    moved: KeptCalls,
}

/// The ring is not moved if it is larger: that takes too long.
const MOST_MOVED: usize = 32 << 20;

/// Keeps what is to be kept of a full chunk of this ring, which is about to be written over.
fn keep(thread_state: &mut ThreadState, chunk: *mut u8) {
    // A child by vfork ends soon, and its state goes with it.
    if !thread_state.vfork_page.is_null() {
        return;
    }
    if thread_state.copies.is_null() {
        thread_state.copies = memory().cast();
    }
    // SAFETY: memory that this thread state alone knows, permanently mapped.
    let Some(copies) = (unsafe { thread_state.copies.cast::<KeptRing>().as_mut() }) else {
        page::count(diagnostic::STATE_DROPPED, 1);
        return;
    };
    let max_chunks = u64::from(run::max_chunks());
    // SAFETY: null, or a state that only this one knows, permanently mapped.
    if let Some(state) = unsafe { copies.state.as_mut() }
        && is_to_be_moved(state)
        && let Some(spare) = move_ring(state, &mut copies.moved, copies.spare)
    {
        copies.calls.moved(&copies.moved);
        (copies.spare, copies.state) = (copies.state, spare.state);
        copies.before = spare.before;
    }
    // SAFETY: a full chunk of this ring, mapped whole, in which no record waits for its words.
    let (source, monotonic) = unsafe { source(thread_state, chunk) };
    // SAFETY: as above.
    let state = unsafe { copies.state.as_mut() };
    let mut ring = Ring {
        state,
        windows: Some(Windows::all_known()),
        base: (source.base_ticks, monotonic),
        pinned: copies.before + max_chunks / 2,
        lost: 0,
        has_failed: false,
    };
    let without_room = copies.calls.copy(source, &mut ring);
    let lost = u64::from(without_room) + u64::from(ring.lost);
    copies.state = ring.state.map_or(core::ptr::null_mut(), |state| state);
    if lost > 0 {
        page::count(diagnostic::STATE_DROPPED, lost);
    }
}

/// The records of a chunk, and when it began by CLOCK_MONOTONIC.
///
/// # Safety
/// A chunk of this ring that is mapped, and that no thread writes to meanwhile.
unsafe fn source<'a>(thread_state: &ThreadState, chunk: *mut u8) -> (SourceChunk<'a>, u64) {
    // SAFETY: the caller's promise.
    let (head, words) = unsafe {
        let head = &*chunk.cast::<ChunkHeader>();
        let end = (head.head.load(Relaxed) as u32).min((*thread_state.header).chunk_bytes) as usize;
        let words = end.saturating_sub(CHUNK_HEADER) / 8;
        (head, core::slice::from_raw_parts(chunk.add(CHUNK_HEADER).cast::<u64>(), words))
    };
    let source = SourceChunk {
        words,
        first_call: head.first_call.load(Relaxed),
        base_ticks: head.base_ticks.load(Relaxed),
        tid: head.tid.load(Relaxed),
    };
    (source, head.base_monotonic.load(Relaxed))
}

/// It has no further chunk, all of them are mapped, and a quarter of it is marked.
fn is_to_be_moved(state: &ThreadState) -> bool {
    // SAFETY: the header is mapped.
    let header = unsafe { &*state.header };
    let bytes = run::max_chunks() as usize * header.chunk_bytes as usize;
    let mapped = state.mapped.iter().filter(|mapped| mapped.0 != 0 && !mapped.1.is_null()).count();
    matches!(chunks::next_kept(state), NextKept::None)
        && mapped == header.chunks.load(Relaxed) as usize
        && bytes <= MOST_MOVED
        && header.dead_bytes.load(Relaxed) as usize >= bytes / 4
}

/// A ring to which another one was moved.
struct Moved {
    state: *mut ThreadState,
    before: u64,
}

/// Copies what is not marked to another ring: `spare`, or a new one.
fn move_ring(from: &mut ThreadState, calls: &mut KeptCalls, spare: *mut ThreadState) -> Option<Moved> {
    *calls = KeptCalls::default();
    let pointer = match spare.is_null() {
        true => thread_states::make_second_ring(from.tid.load(Relaxed), KEPT_NOT_VALID),
        false => spare,
    };
    // SAFETY: null, or a state that only this one knows, permanently mapped.
    let to = unsafe { pointer.as_mut() }?;
    // SAFETY: both headers are mapped.
    let (from_header, to_header) = unsafe { (&*from.header, &*to.header) };
    let before = to.sequence;
    let mut ring = Ring { state: Some(to), windows: None, base: (0, 0), pinned: u64::MAX, lost: 0, has_failed: false };
    let mut sequence = 0;
    while let Some((next, chunk)) = chunk_after(from, sequence) {
        sequence = next;
        // SAFETY: a chunk of this ring, to which only the caller of this function writes.
        let (source, monotonic) = unsafe { source(from, chunk) };
        ring.base = (source.base_ticks, monotonic);
        let lost = calls.copy(source, &mut ring);
        ring.lost = ring.lost.wrapping_add(lost);
    }
    if ring.lost > 0 {
        page::count(diagnostic::STATE_DROPPED, ring.lost.into());
    }
    from_header.copies.store(KEPT_NOT_VALID, Release);
    to_header.dead_bytes.store(0, Relaxed);
    to_header.copies.store(KEPT, Release);
    from.writer.chunk = core::ptr::null_mut();
    for (_, chunk) in from.mapped.iter().filter(|mapped| mapped.0 != 0 && !mapped.1.is_null()) {
        // SAFETY: mapped chunks of this ring.
        unsafe { (*chunk.cast::<ChunkHeader>()).state.store(FREE, Release) };
    }
    Some(Moved { state: pointer, before })
}

/// The chunk in use with the lowest number above this one.
fn chunk_after(state: &ThreadState, sequence: u64) -> Option<(u64, *mut u8)> {
    let mut next: Option<(u64, *mut u8)> = None;
    for &(_, chunk) in state.mapped.iter().filter(|mapped| mapped.0 != 0 && !mapped.1.is_null()) {
        // SAFETY: a mapped chunk of this ring.
        let head = unsafe { &*chunk.cast::<ChunkHeader>() };
        let number = head.sequence.load(Relaxed);
        let is_used = head.state.load(Relaxed) != FREE;
        if is_used && number > sequence && next.is_none_or(|(lowest, _)| number < lowest) {
            next = Some((number, chunk));
        }
    }
    next
}

fn memory() -> *mut KeptRing {
    if !mappings::take(1) {
        return core::ptr::null_mut();
    }
    let memory = sys::pages(size_of::<KeptRing>()).cast::<KeptRing>();
    if memory.is_null() {
        mappings::give_back(1);
        return memory;
    }
    // SAFETY: fresh memory; all else in it is zero.
    unsafe {
        (&raw mut (*memory).calls).write(KeptCalls::default());
        (&raw mut (*memory).moved).write(KeptCalls::default());
    }
    memory
}

/// The second ring while it is written to.
struct Ring<'a> {
    state: Option<&'a mut ThreadState>,
    /// None: all calls are wanted.
    windows: Option<Windows>,
    /// When the chunk began that is copied, by both clocks.
    base: (u64, u64),
    /// Number of the last chunk that is never written over.
    pinned: u64,
    /// Calls that were written over.
    lost: u32,
    /// It could not be made: not tried again for this chunk.
    has_failed: bool,
}

impl Ring<'_> {
    /// Makes it at the first record.
    fn make_ring(&mut self, tid: u32) {
        if self.state.is_none() && !self.has_failed {
            // SAFETY: null, or a fresh state, permanently mapped.
            self.state = unsafe { thread_states::make_second_ring(tid, KEPT).as_mut() };
            self.has_failed = self.state.is_none();
        }
    }

    /// Opens the next chunk unless the current one has room for so many words.
    fn make_room(&mut self, words: u32, tid: u32) -> bool {
        let Some(state) = &mut self.state else { return false };
        let writer = &state.writer;
        // SAFETY: the current chunk is mapped.
        if !writer.chunk.is_null() && unsafe { writer.head() } as u32 + words * 8 <= writer.bytes {
            return true;
        }
        let opened = chunks::open_kept(state, self.base, tid, self.pinned);
        self.lost = self.lost.wrapping_add(opened.unwrap_or(0));
        opened.is_some()
    }
}

/// Writes a record that has room.
fn append(state: &ThreadState, record: &CopiedRecord<'_>) -> bool {
    let is_enter = record.kind == kind::ENTER;
    // SAFETY: the current chunk is mapped, and no other thread writes to this ring.
    let reserved = unsafe { state.writer.reserve(state.writer.head(), record.words(), record.first, is_enter) };
    let Ok(reserved) = reserved else { return false };
    for (n, &word) in record.second.iter().chain(record.rest).enumerate() {
        // SAFETY: the record has so many words.
        unsafe { reserved.word(n + 1, word) };
    }
    reserved.commit(record.first);
    true
}

impl KeptCallsSink for Ring<'_> {
    fn is_wanted(&mut self, slot: u32, ticks: u64) -> Wanted {
        let is_whole = self.windows.as_mut().is_none_or(|windows| windows.contains(ticks));
        if is_whole { Wanted::Yes } else { wanted_of(slot) }
    }

    fn put(&mut self, record: &CopiedRecord<'_>, ticks: u64, tid: u32) -> bool {
        self.make_ring(tid);
        if !self.make_room(record.words() + TIME_WORDS, tid) {
            return false;
        }
        let Some(state) = &mut self.state else { return false };
        if ticks.wrapping_sub(state.writer.last) >= NEAR_TICKS {
            let first = first_word(kind::TIME, TIME_WORDS, 0, ticks as u32);
            append(state, &CopiedRecord { kind: kind::TIME, first, second: Some(ticks), rest: &[] });
        }
        state.writer.last = ticks;
        append(state, record)
    }
}
