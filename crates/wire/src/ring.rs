//! A ring: the calls of one thread after the other, in chunks of one file.
//!
//! The writer is one thread (and signal handlers on it). It reserves with one non-locked
//! compare-and-exchange of a word that holds both the offset and the number of enter records, so a
//! handler that comes in between tears nothing: `write-then-publish` gave torn records, this does
//! not. A reader follows sequence numbers, stops at a record that is not committed yet, and may set
//! a chunk that it has read whole to [`FREE`]. Nobody reading is a valid state: the file grows.

use crate::atomic::{AtomicU32, AtomicU64};
use crate::{MAGIC, PAGE, VERSION, record};
use core::sync::atomic::Ordering;

/// The chunk may be taken by the writer.
pub const FREE: u32 = 0;
/// The writer's current chunk.
pub const OPEN: u32 = 1;
/// Written; no record will be added.
pub const FULL: u32 = 2;

/// Set by the kernel in the first word of a robust mutex whose owner died.
pub const OWNER_DIED: u32 = 0x4000_0000;
/// The thread id part of that word.
pub const OWNER_TID: u32 = 0x3fff_ffff;

/// In `copies`: it has copies of calls.
pub const KEPT: u32 = 1;
/// In `copies`: another ring has what it holds.
pub const KEPT_NOT_VALID: u32 = 2;

/// First page of a ring file.
#[repr(C)]
pub struct RingHeader {
    /// [`crate::MAGIC`], stored last.
    pub magic: AtomicU64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Bytes of one chunk.
    pub chunk_bytes: u32,
    /// Chunks in the file, all of them allocated on disk.
    pub chunks: AtomicU32,
    /// Thread that owns the ring now.
    pub tid: AtomicU32,
    /// Calls of its threads that only happen because we watch; those that the process counts come on top.
    pub self_induced: AtomicU64,
    /// [`KEPT`] or [`KEPT_NOT_VALID`]: no thread writes to it. It has copies of calls that a flight recorder would have
    /// lost, because later calls depend on them ([`crate::kept_calls`]). 0: it is the ring of a thread.
    pub copies: AtomicU32,
    /// Of such a ring: bytes of records of objects that are destroyed. The collector has marked them as given up.
    pub dead_bytes: AtomicU32,
    /// A process-shared robust mutex held by the owner: its first word tells when the thread is dead.
    pub owner: OwnerLock,
}

/// Room for a `pthread_mutex_t` of any libc, of which the first word is the futex.
#[repr(C, align(64))]
pub struct OwnerLock {
    /// The futex word.
    pub word: AtomicU32,
    rest: [u8; 124],
}

impl RingHeader {
    /// True when no live thread owns the ring.
    pub fn abandoned(&self) -> bool {
        let word = self.owner.word.load(Ordering::Acquire);
        word & OWNER_DIED != 0 || word & OWNER_TID == 0
    }
    /// True when the page is a finished header of this version.
    pub fn valid(&self) -> bool {
        self.magic.load(Ordering::Acquire) == MAGIC
            && self.version == VERSION
            && self.chunk_bytes as usize >= PAGE
            && (self.chunk_bytes as usize).is_multiple_of(PAGE)
    }
}

#[cfg(not(feature = "loom"))]
const _: () = assert!(size_of::<RingHeader>() <= PAGE);

/// Head of a chunk; records follow.
#[repr(C, align(64))]
#[cfg_attr(feature = "loom", derive(Debug, Default))]
pub struct ChunkHeader {
    /// `FREE`, `OPEN` or `FULL`.
    pub state: AtomicU32,
    /// Thread whose records these are.
    pub tid: AtomicU32,
    /// Place of this chunk in the ring's stream, from 1; stored last when a chunk is opened.
    pub sequence: AtomicU64,
    /// Ticks when the chunk was opened.
    pub base_ticks: AtomicU64,
    /// CLOCK_MONOTONIC nanoseconds at the same moment.
    pub base_monotonic: AtomicU64,
    /// Low half: bytes reserved, from the start of the chunk. High half: enter records so far.
    pub head: AtomicU64,
    /// Enter records before this chunk.
    pub first_call: AtomicU32,
    pad: u32,
}

/// Bytes of a chunk's head.
pub const CHUNK_HEADER: usize = 64;
#[cfg(not(feature = "loom"))]
const _: () = assert!(size_of::<ChunkHeader>() == CHUNK_HEADER);

/// A chunk as loom knows it: its atomics are larger than their values.
#[cfg(feature = "loom")]
#[repr(C)]
#[derive(Debug, Default)]
pub struct ModelChunk {
    /// Its head.
    pub header: ChunkHeader,
    /// Room for records.
    pub words: [AtomicU64; 8],
}

/// The word at `offset` of a chunk.
///
/// # Safety
/// It lies in the chunk, which is mapped; `offset` is a multiple of 8 and not in the head.
#[inline(always)]
unsafe fn word_at(chunk: *mut ChunkHeader, offset: usize) -> *mut AtomicU64 {
    #[cfg(not(feature = "loom"))]
    // SAFETY: the caller's promise.
    return unsafe { chunk.cast::<u8>().add(offset) }.cast();
    #[cfg(feature = "loom")]
    // SAFETY: the caller's promise, of a model's chunk.
    return unsafe {
        (&raw mut (*chunk.cast::<ModelChunk>()).words).cast::<AtomicU64>().add((offset - CHUNK_HEADER) / 8)
    };
}

/// Rings of a process that have a separate file from the beginning, by their numbers.
pub const OWN_FILES: u32 = 256;
/// Later rings share files with this many of each other: a heads file holds their first pages, then their first chunks.
/// Further chunks of such a ring are in a separate file, at the places that they have in every ring file.
pub const HEADS: u32 = 64;

/// Where a heads file has the first page and the first chunk of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedHead {
    /// Number of the file: `h<file>.heads`.
    pub file: u32,
    /// Number of the ring among those of the file.
    pub number: u32,
}

/// The place of a ring's head in a heads file; `None` if the ring has a separate file.
pub const fn shared_head(ring: u32) -> Option<SharedHead> {
    match ring.checked_sub(OWN_FILES) {
        Some(n) => Some(SharedHead { file: n / HEADS, number: n % HEADS }),
        None => None,
    }
}

impl SharedHead {
    /// Offset of the first page.
    pub const fn page(self) -> usize {
        self.number as usize * PAGE
    }
    /// Offset of the first chunk.
    pub const fn chunk(self, chunk_bytes: u32) -> usize {
        HEADS as usize * PAGE + self.number as usize * chunk_bytes as usize
    }
}

/// Offset of chunk `n` in a ring file.
pub const fn chunk_offset(n: u32, chunk_bytes: u32) -> usize {
    PAGE + n as usize * chunk_bytes as usize
}

/// What the writer keeps of its current chunk. All zero: none yet.
#[derive(Clone, Copy)]
pub struct ChunkWriter {
    /// The chunk's head, mapped.
    pub chunk: *mut ChunkHeader,
    /// Bytes of the chunk.
    pub bytes: u32,
    /// Time of the last record, to know when a TIME record is due; only a hint.
    pub last: u64,
}

/// A reserved place for one record.
pub struct Reserved {
    /// First word of the record.
    pub at: *mut AtomicU64,
    /// Number of the call if this is an enter record.
    pub number: u32,
}

/// Why a record could not be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReserved {
    /// The chunk has no room: open the next one and try again.
    Full,
    /// A signal handler wrote in between: take the time again and try again.
    Raced,
}

impl ChunkWriter {
    /// Makes `chunk` the open one. The caller has it for itself (it is `FREE` or new).
    ///
    /// # Safety
    /// `chunk` points to `bytes` bytes of mapped, allocated file memory.
    pub unsafe fn open(
        chunk: *mut ChunkHeader,
        bytes: u32,
        sequence: u64,
        tid: u32,
        first_call: u32,
        ticks: u64,
        monotonic: u64,
    ) -> ChunkWriter {
        // SAFETY: the caller's promise; all fields are atomics.
        let c = unsafe { &*chunk };
        c.sequence.store(0, Ordering::Release);
        c.tid.store(tid, Ordering::Relaxed);
        c.base_ticks.store(ticks, Ordering::Relaxed);
        c.base_monotonic.store(monotonic, Ordering::Relaxed);
        c.first_call.store(first_call, Ordering::Relaxed);
        c.head.store((u64::from(first_call) << 32) | CHUNK_HEADER as u64, Ordering::Relaxed);
        c.state.store(OPEN, Ordering::Relaxed);
        c.sequence.store(sequence, Ordering::Release);
        ChunkWriter { chunk, bytes, last: ticks }
    }

    /// The reservation word as it is now; take it *before* the time, hand it to `reserve` after.
    ///
    /// # Safety
    /// The chunk is mapped.
    #[inline(always)]
    pub unsafe fn head(&self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { &*self.chunk }.head.load(Ordering::Relaxed)
    }

    /// Ends the chunk, once; doing it again changes nothing, for its reader may have freed it since. The
    /// rest is filled, so that a smaller record, or one that a signal handler interrupted before it was
    /// reserved, does not land in a chunk that is not read any more.
    ///
    /// # Safety
    /// The chunk is mapped, and this is the thread that owns the ring.
    pub unsafe fn close(&self) {
        // SAFETY: the caller's promise.
        let state = unsafe { &(*self.chunk).state };
        if state.load(Ordering::Relaxed) != OPEN {
            return;
        }
        loop {
            // SAFETY: the caller's promise.
            let head = unsafe { self.head() };
            let words = (self.bytes.saturating_sub(head as u32) / 8).min(record::MAX_WORDS);
            if words == 0 {
                break;
            }
            let first = record::first_word(record::kind::SKIP, words, 0, self.last as u32);
            // SAFETY: the caller's promise.
            if let Ok(rest) = unsafe { self.reserve(head, words, first, false) } {
                rest.commit(first);
            }
        }
        state.store(FULL, Ordering::Release);
    }

    /// Reserves `words` words whose first will be `first` without the committed bit.
    ///
    /// # Safety
    /// The chunk is mapped, and this is the thread that owns the ring.
    #[inline(always)]
    pub unsafe fn reserve(&self, head: u64, words: u32, first: u64, is_enter: bool) -> Result<Reserved, NotReserved> {
        let offset = head as u32;
        let bytes = words * 8;
        if offset + bytes > self.bytes {
            return Err(NotReserved::Full);
        }
        // SAFETY: offset + bytes lies in the chunk, as checked above; offset is a multiple of 8.
        let at = unsafe { word_at(self.chunk, offset as usize) };
        // As many lines as this record takes, so that none is left out.
        for line in 0..(bytes as usize).div_ceil(LINE) {
            will_write(at.wrapping_byte_add(AHEAD + line * LINE));
        }
        // The length must be there before the space is taken: a thread killed in between leaves a
        // record that a reader can step over.
        // A signal handler may have written its own record here since `head` was read, and may still do
        // so before the length is there; its record must not be overwritten.
        // SAFETY: as above; the chunk is mapped.
        let mine = unsafe {
            let before = (*at).load(Ordering::Relaxed);
            (*self.chunk).head.load(Ordering::Relaxed) == head && exchange_if_same(&*at, before, first)
        };
        if !mine {
            return Err(NotReserved::Raced);
        }
        let next = head + u64::from(bytes) + (u64::from(is_enter) << 32);
        // SAFETY: the chunk is mapped.
        if unsafe { exchange_if_same(&(*self.chunk).head, head, next) } {
            Ok(Reserved { at, number: (head >> 32) as u32 })
        } else {
            Err(NotReserved::Raced)
        }
    }
}

impl Reserved {
    /// Writes word `n` of the record, `n` from 1 to the length given to `reserve` less one.
    ///
    /// # Safety
    /// `n` lies within the reserved length.
    #[inline(always)]
    pub unsafe fn word(&self, n: usize, value: u64) {
        // SAFETY: the caller's promise.
        unsafe { (*self.at.add(n)).store(value, Ordering::Relaxed) }
    }
    /// Copies bytes from word `n` on.
    ///
    /// # Safety
    /// They lie within the reserved length; `from` is readable.
    pub unsafe fn bytes(&self, n: usize, from: *const u8, len: usize) {
        // SAFETY: the caller's promise; byte by byte, for no memcpy may be called here.
        unsafe {
            let to = self.at.add(n).cast::<u8>();
            for i in 0..len {
                to.add(i).write_volatile(from.add(i).read());
            }
        }
    }
    /// Makes the record valid.
    #[inline(always)]
    pub fn commit(self, first: u64) {
        // SAFETY: `at` was reserved.
        unsafe { (*self.at).store(first | crate::record::COMMITTED, Ordering::Release) }
    }
}

/// How far ahead the lines of a ring are fetched: whoever drains has read them, so they are another core's, and a
/// record's first word is read before it is written.
pub const AHEAD: usize = 512;
/// Bytes of a line of the cache.
pub const LINE: usize = 64;

/// A hint that a line will be written; the address need not be mapped.
#[inline(always)]
fn will_write(at: *const AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(feature = "loom")))]
    // SAFETY: a hint.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(feature = "loom"))))]
    let _ = at;
}

/// Compare-and-exchange that is atomic towards signal handlers of the same thread only.
///
/// # Safety
/// Only one thread writes `word`.
#[inline(always)]
unsafe fn exchange_if_same(word: &AtomicU64, old: u64, new: u64) -> bool {
    #[cfg(all(target_arch = "x86_64", not(feature = "loom")))]
    {
        let exchanged: u8;
        // SAFETY: one instruction on a valid word; no lock prefix, because only this thread writes.
        unsafe {
            core::arch::asm!(
                "cmpxchg qword ptr [{w}], {n}",
                "sete {d}",
                w = in(reg) word.as_ptr(),
                n = in(reg) new,
                d = out(reg_byte) exchanged,
                inout("rax") old => _,
                options(nostack),
            );
        }
        exchanged != 0
    }
    #[cfg(not(all(target_arch = "x86_64", not(feature = "loom"))))]
    {
        word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use crate::record::{Cursor, Record, Step, first_word, kind};

    #[repr(align(64))]
    struct Page([u64; PAGE / 8]);

    #[test]
    fn a_handlers_record_is_not_overwritten() {
        let mut memory = Box::new(Page([0; PAGE / 8]));
        let chunk = memory.0.as_mut_ptr().cast::<ChunkHeader>();
        // SAFETY: the memory is one page, aligned, and used by this thread only.
        let calls = unsafe {
            let writer = ChunkWriter::open(chunk, PAGE as u32, 1, 7, 0, 1000, 1000);
            let interrupted_at = writer.head();
            let handler = first_word(kind::ENTER, 2, 5, 1001);
            let record = writer.reserve(writer.head(), 2, handler, true).unwrap();
            record.word(1, 0);
            record.commit(handler);
            let late = writer.reserve(interrupted_at, 3, first_word(kind::ENTER, 3, 6, 1002), true);
            assert_eq!(late.err(), Some(NotReserved::Raced));
            writer.head()
        };
        let bytes: Vec<u8> = memory.0.iter().flat_map(|w| w.to_le_bytes()).collect();
        let step = Cursor::new(1000, 0).step(&bytes, calls as u32 as usize, false);
        assert!(matches!(step, Step::Record(Record::Enter { slot: 5, ticks: 1001, .. })), "{step:?}");
    }

    #[test]
    fn nothing_lands_in_a_closed_chunk() {
        let mut memory = Box::new(Page([0; PAGE / 8]));
        let chunk = memory.0.as_mut_ptr().cast::<ChunkHeader>();
        // SAFETY: the memory is one page, aligned, and used by this thread only.
        let head = unsafe {
            let writer = ChunkWriter::open(chunk, PAGE as u32, 1, 7, 0, 1000, 1000);
            let interrupted_at = writer.head();
            let enter = first_word(kind::ENTER, 2, 5, 1001);
            let record = writer.reserve(interrupted_at, 2, enter, true).unwrap();
            record.word(1, 0);
            record.commit(enter);
            let interrupted_at = writer.head();
            writer.close();
            let late = writer.reserve(interrupted_at, 2, enter, true);
            assert_eq!(late.err(), Some(NotReserved::Raced));
            assert_eq!(writer.reserve(writer.head(), 1, enter, false).err(), Some(NotReserved::Full));
            assert_eq!((*chunk).state.load(Ordering::Relaxed), FULL);
            (*chunk).state.store(FREE, Ordering::Relaxed);
            writer.close();
            assert_eq!((*chunk).state.load(Ordering::Relaxed), FREE, "its reader has given it back");
            writer.head()
        };
        let bytes: Vec<u8> = memory.0.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut cursor = Cursor::new(1000, 0);
        assert!(matches!(cursor.step(&bytes, head as u32 as usize, false), Step::Record(Record::Enter { .. })));
        assert_eq!(cursor.step(&bytes, head as u32 as usize, false), Step::Pending);
        assert_eq!((cursor.offset, cursor.last, cursor.calls), (PAGE, 1000, 1));
    }
}
