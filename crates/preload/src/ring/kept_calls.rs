//! What a flight recorder keeps of a chunk that it writes over: the calls on which later ones depend, and all calls of
//! the times in which a graph was captured. They are copied to a second ring of the same size, which no thread owns.
//! When that is full, its oldest chunk is written over, and the calls in it are counted.
//!
//! Everything here is rare and runs while the thread's chunks are changed: see `chunks`.

use super::chunks;
use super::counts::THUNKS;
use super::thread_state::ThreadState;
use super::thread_states;
use crate::process::capture_windows::Windows;
use crate::process::page;
use crate::sys::{self, mappings};
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::kept_calls::{CopiedRecord, KeptCalls, KeptCallsSink, SourceChunk};
use cutap_wire::record::{first_word, kind};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader};

/// Slots whose calls are kept: a bit each.
static STATE_SLOTS: [AtomicU64; THUNKS / 64] = [const { AtomicU64::new(0) }; THUNKS / 64];
/// Ticks to the record before, beyond which a record of the whole time must stand between them.
const NEAR_TICKS: u64 = 1 << 31;

/// Words of such a record.
const TIME_WORDS: u32 = 2;

/// Calls of this slot are kept.
pub fn keep_slot(slot: u32) {
    if let Some(bits) = STATE_SLOTS.get(slot as usize / 64) {
        bits.fetch_or(1 << (slot % 64), Relaxed);
    }
}

fn is_kept(slot: u32) -> bool {
    STATE_SLOTS.get(slot as usize / 64).is_some_and(|bits| bits.load(Relaxed) >> (slot % 64) & 1 != 0)
}

/// What is kept of a thread state. All zero: nothing yet.
pub struct KeptRing {
    /// The second ring, as that of a thread; null until the first call is kept.
    state: *mut ThreadState,
    calls: KeptCalls,
}

/// Keeps what is to be kept of a full chunk of this ring, which is about to be written over.
pub fn keep(thread_state: &mut ThreadState, chunk: *mut u8) {
    // A child by vfork ends soon, and its state goes with it.
    if !thread_state.vfork_page.is_null() {
        return;
    }
    if thread_state.kept.is_null() {
        thread_state.kept = memory();
    }
    // SAFETY: memory that this thread state alone knows, permanently mapped, zero or in use.
    let Some(kept) = (unsafe { thread_state.kept.as_mut() }) else {
        page::count(diagnostic::STATE_DROPPED, 1);
        return;
    };
    // SAFETY: a full chunk of this ring, mapped whole, in which no record waits for its words.
    let (head, source) = unsafe {
        let head = &*chunk.cast::<ChunkHeader>();
        let end = (head.head.load(Relaxed) as u32).min((*thread_state.header).chunk_bytes) as usize;
        let words = end.saturating_sub(CHUNK_HEADER) / 8;
        (head, core::slice::from_raw_parts(chunk.add(CHUNK_HEADER).cast::<u64>(), words))
    };
    let source = SourceChunk {
        words: source,
        first_call: head.first_call.load(Relaxed),
        base_ticks: head.base_ticks.load(Relaxed),
        tid: head.tid.load(Relaxed),
    };
    let base = (source.base_ticks, head.base_monotonic.load(Relaxed));
    // SAFETY: null, or a state that only this one knows, permanently mapped.
    let state = unsafe { kept.state.as_mut() };
    let mut ring = Ring { state, windows: Windows::known(), base, lost: 0, has_failed: false };
    let without_room = kept.calls.copy(source, &mut ring);
    let lost = u64::from(without_room) + u64::from(ring.lost);
    kept.state = ring.state.map_or(core::ptr::null_mut(), |state| state);
    if lost > 0 {
        page::count(diagnostic::STATE_DROPPED, lost);
    }
}

fn memory() -> *mut KeptRing {
    if !mappings::take(1) {
        return core::ptr::null_mut();
    }
    let memory = sys::pages(size_of::<KeptRing>());
    if memory.is_null() {
        mappings::give_back(1);
    }
    memory.cast()
}

/// The second ring while it is written to.
struct Ring<'a> {
    state: Option<&'a mut ThreadState>,
    windows: Windows,
    /// When the chunk began that is copied, by both clocks.
    base: (u64, u64),
    /// Calls that were written over.
    lost: u32,
    /// It could not be made: not tried again for this chunk.
    has_failed: bool,
}

impl Ring<'_> {
    /// Makes it at the first record.
    fn make(&mut self, tid: u32) {
        if self.state.is_none() && !self.has_failed {
            // SAFETY: null, or a fresh state that nobody else knows, permanently mapped.
            self.state = unsafe { thread_states::make_second_ring(tid, true).as_mut() };
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
        let opened = chunks::next_kept(state, self.base, tid);
        self.lost = self.lost.wrapping_add(opened.unwrap_or(0));
        opened.is_some()
    }
}

/// Writes a record that has room.
fn append(state: &ThreadState, record: &CopiedRecord<'_>) -> bool {
    let is_enter = record.kind == kind::ENTER;
    // SAFETY: the current chunk is mapped, and nobody else writes to this ring.
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
    fn wants(&mut self, slot: u32, ticks: u64) -> bool {
        self.windows.contains(ticks) || is_kept(slot)
    }

    fn put(&mut self, record: &CopiedRecord<'_>, ticks: u64, tid: u32) -> bool {
        self.make(tid);
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
