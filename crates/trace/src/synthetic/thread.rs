//! A thread that writes its ring: calls, notes, look-ups, and every point at which a thread can stop in between.

use crate::synthetic::monotonic;
use cutap_wire::record::{self, FAR_PARENT, NO_PARENT, first_word};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, ChunkWriter, FREE, RingHeader, chunk_offset};
use cutap_wire::rows::Row;
use cutap_wire::{MAGIC, VERSION};
use memmap2::MmapMut;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// A thread that writes its ring.
pub struct Thread {
    map: MmapMut,
    tid: u32,
    chunks: u32,
    chunk_bytes: u32,
    sequence: u64,
    writer: Option<ChunkWriter>,
    /// Calls that are open, for their parents.
    pub open: Vec<u32>,
    ticks: Rc<Cell<u64>>,
    tsc: u64,
}

/// A record that was reserved and is not committed.
pub struct UncommittedRecord {
    reserved: cutap_wire::ring::Reserved,
    first: u64,
}

impl Thread {
    /// A thread in a ring file that is mapped whole; the clock is ticks and ticks a nanosecond.
    pub(super) fn new(map: MmapMut, tid: u32, chunks: u32, chunk_bytes: u32, clock: (Rc<Cell<u64>>, u64)) -> Thread {
        let (ticks, tsc) = clock;
        let (sequence, writer, open) = (0, None, Vec::new());
        let mut thread = Thread { map, tid, chunks, chunk_bytes, sequence, writer, open, ticks, tsc };
        let header = thread.header();
        // SAFETY: the first page of the file is mapped, and only this thread writes its plain words.
        unsafe {
            (&raw mut (*header).version).write(VERSION);
            (&raw mut (*header).chunk_bytes).write(chunk_bytes);
            (*header).chunks.store(chunks, Ordering::Relaxed);
            (*header).owner.word.store(tid, Ordering::Relaxed);
            (*header).tid.store(tid, Ordering::Relaxed);
            (*header).magic.store(MAGIC, Ordering::Release);
        }
        thread.open_chunk();
        thread
    }

    /// A call begins inside the innermost open one.
    pub fn enter(&mut self, slot: u32, words: &[u64]) -> u32 {
        let parent = self.open.last().copied();
        self.enter_below(slot, parent, words)
    }

    /// A call begins inside this one, whatever else is open.
    pub fn enter_below(&mut self, slot: u32, parent: Option<u32>, words: &[u64]) -> u32 {
        let unfinished = self.reserve_enter(slot, parent, words);
        let number = unfinished.reserved.number;
        self.commit(unfinished);
        self.open.push(number);
        number
    }

    /// The innermost call returns.
    pub fn exit(&mut self, result: u64) {
        let number = self.open.pop().expect("an open call");
        self.exit_of(number, result);
    }

    /// A call begins, with memory that was kept: address and bytes of each piece.
    pub fn enter_with(&mut self, slot: u32, words: &[u64], memory: &[(u64, &[u8])]) -> u32 {
        let all: Vec<u64> = words.iter().copied().chain(pieces(memory)).collect();
        self.enter(slot, &all)
    }

    /// The innermost call returns, with memory that was kept.
    pub fn exit_with(&mut self, result: u64, memory: &[(u64, &[u8])]) {
        let number = self.open.pop().expect("an open call");
        let back = self.calls().wrapping_sub(1).wrapping_sub(number);
        let words: Vec<u64> = std::iter::once(result).chain(pieces(memory)).collect();
        self.write(record::kind::EXIT, back, &words);
    }

    /// A call with nothing inside that takes 1000 ns, with memory before and after it.
    pub fn call_with(
        &mut self,
        slot: u32,
        words: &[u64],
        before: &[(u64, &[u8])],
        result: u64,
        after: &[(u64, &[u8])],
    ) {
        self.enter_with(slot, words, before);
        self.ticks.set(self.ticks.get() + 1000 * self.tsc.max(1));
        self.exit_with(result, after);
    }

    /// This call returns.
    pub fn exit_of(&mut self, number: u32, result: u64) {
        self.open.retain(|o| *o != number);
        let back = self.calls().wrapping_sub(1).wrapping_sub(number);
        let words = if back < record::META_MAX { vec![result] } else { vec![result, u64::from(number)] };
        self.write(record::kind::EXIT, back.min(record::META_MAX), &words);
    }

    /// A call with nothing inside, that takes so long.
    pub fn call(&mut self, slot: u32, words: &[u64], ns: u64, result: u64) {
        self.enter(slot, words);
        self.ticks.set(self.ticks.get() + ns * self.tsc.max(1));
        self.exit(result);
    }

    /// Something is learned about the innermost open call.
    pub fn write_note(&mut self, code: u64, value: u64) {
        let number = *self.open.last().expect("an open call");
        let back = self.calls().wrapping_sub(1).wrapping_sub(number);
        self.write(record::kind::NOTE, back, &[code, value]);
    }

    /// A look-up.
    pub fn lookup(&mut self, which: u32, caller: u64, handle: u64, answer: u64, slot: u64, name: &str) {
        let mut words = vec![caller, handle, 0, answer, slot, 0, (name.len() as u64) << 48];
        let mut text = name.as_bytes().to_vec();
        text.resize(text.len().next_multiple_of(8), 0);
        words.extend(text.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w)));
        self.write(record::kind::LOOKUP, which, &words);
    }

    /// Reserves an enter record, as a thread does that is stopped before it commits.
    pub fn reserve_enter(&mut self, slot: u32, parent: Option<u32>, words: &[u64]) -> UncommittedRecord {
        let number = self.calls();
        let parent = parent.map_or(NO_PARENT, |p| number.wrapping_sub(p).min(u32::from(FAR_PARENT)) as u16);
        let mut all = vec![0x40_0000 | u64::from(parent) << 48];
        all.extend(words);
        self.reserve(record::kind::ENTER, slot, &all)
    }

    /// Commits what was reserved.
    pub fn commit(&mut self, unfinished: UncommittedRecord) {
        unfinished.reserved.commit(unfinished.first);
    }

    /// A row of GPU time, which belongs to no thread.
    pub fn row(&mut self, row: &Row) {
        let packed = row.pack();
        self.write(record::kind::EXTENDED, packed.sub_kind.into(), packed.words());
    }

    /// The thread ends; another one takes its ring.
    pub fn reused_by(&mut self, tid: u32) {
        self.end();
        // SAFETY: the header is mapped.
        let header = unsafe { &*self.header() };
        header.owner.word.store(tid, Ordering::Relaxed);
        header.tid.store(tid, Ordering::Relaxed);
        self.tid = tid;
        self.open.clear();
        self.write(record::kind::THREAD, 0, &[u64::from(tid)]);
    }

    /// The innermost call is left by an exception.
    pub fn unwound(&mut self) {
        let number = self.open.pop().expect("an open call");
        let back = self.calls().wrapping_sub(1).wrapping_sub(number);
        self.write(record::kind::UNWOUND, back, &[]);
    }

    /// The thread ends, or is killed, and the kernel marks its mutex.
    pub fn end(&mut self) {
        // SAFETY: the header is mapped.
        let word = &unsafe { &*self.header() }.owner.word;
        word.fetch_or(cutap_wire::ring::OWNER_DIED, Ordering::Release);
    }

    /// States of all chunks.
    pub fn states(&mut self) -> Vec<u32> {
        // SAFETY: all chunks are mapped.
        (0..self.chunks).map(|n| unsafe { &*self.chunk(n) }.state.load(Ordering::Acquire)).collect()
    }

    /// Closes the current chunk and opens the next one.
    pub fn next_chunk(&mut self) {
        if let Some(writer) = self.writer.take() {
            // SAFETY: the chunk is mapped, and this is its writer.
            unsafe { writer.close() };
        }
        self.open_chunk();
    }

    fn calls(&self) -> u32 {
        let writer = self.writer.as_ref().expect("an open chunk");
        // SAFETY: the chunk is mapped.
        (unsafe { writer.head() } >> 32) as u32
    }

    fn write(&mut self, kind: u8, meta: u32, words: &[u64]) {
        let unfinished = self.reserve(kind, meta, words);
        self.commit(unfinished);
    }

    fn reserve(&mut self, kind: u8, meta: u32, words: &[u64]) -> UncommittedRecord {
        let now = self.ticks.get();
        let last = self.writer.as_ref().expect("an open chunk").last;
        if now.wrapping_sub(last) >= 1 << 31 {
            let time = self.reserve_plain(record::kind::TIME, 0, &[now]);
            self.commit(time);
        }
        self.reserve_plain(kind, meta, words)
    }

    fn reserve_plain(&mut self, kind: u8, meta: u32, words: &[u64]) -> UncommittedRecord {
        let (now, count) = (self.ticks.get(), words.len() as u32 + 1);
        let first = first_word(kind, count, meta, now as u32);
        loop {
            let writer = self.writer.as_mut().expect("an open chunk");
            writer.last = now;
            // SAFETY: the chunk is mapped, this is its only writer, and the words lie in what is reserved.
            unsafe {
                let head = writer.head();
                if let Ok(reserved) = writer.reserve(head, count, first, kind == record::kind::ENTER) {
                    words.iter().enumerate().for_each(|(n, word)| reserved.word(n + 1, *word));
                    return UncommittedRecord { reserved, first };
                }
            }
            self.next_chunk();
        }
    }

    fn open_chunk(&mut self) {
        let calls = match self.sequence {
            0 => 0,
            // SAFETY: the chunk that was closed last is mapped.
            _ => (unsafe { &*self.last_chunk() }.head.load(Ordering::Relaxed) >> 32) as u32,
        };
        let place = self.states().iter().position(|s| *s == FREE).expect("a free chunk");
        let (ticks, tsc) = (self.ticks.get(), self.tsc);
        let monotonic = monotonic(ticks, tsc);
        self.sequence += 1;
        let chunk = self.chunk(place as u32);
        // SAFETY: the chunk is mapped and free.
        self.writer = Some(unsafe {
            ChunkWriter::open(chunk, self.chunk_bytes, self.sequence, self.tid, calls, ticks, monotonic)
        });
    }

    fn last_chunk(&mut self) -> *mut ChunkHeader {
        let sequence = self.sequence;
        // SAFETY: all chunks are mapped.
        let is_last = |c: &*mut ChunkHeader| unsafe { &**c }.sequence.load(Ordering::Relaxed) == sequence;
        (0..self.chunks).map(|n| self.chunk(n)).find(is_last).expect("the last chunk")
    }

    fn header(&mut self) -> *mut RingHeader {
        self.map.as_mut_ptr().cast()
    }

    fn chunk(&mut self, n: u32) -> *mut ChunkHeader {
        let at = chunk_offset(n, self.chunk_bytes);
        assert!(at + CHUNK_HEADER <= self.map.len());
        // SAFETY: the place lies in the mapping.
        unsafe { self.map.as_mut_ptr().add(at) }.cast()
    }
}

/// Memory as [`record::Fragments`] has it.
pub fn pieces(memory: &[(u64, &[u8])]) -> Vec<u64> {
    let mut words = Vec::new();
    for (address, bytes) in memory {
        words.extend([*address, bytes.len() as u64 | (bytes.len() as u64) << 32]);
        words.extend(bytes.chunks(8).map(|c| c.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b))));
    }
    words
}
