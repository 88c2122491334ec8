//! The chunks of one ring as bytes, for copies of a ring. [`super::reader`] reads the same chunks for their records, by
//! the same rules.

use super::call_count::CallCount;
use super::chunk_file::ChunkFile;
use super::damage::{DamagedHeads, Reuse};
use super::file::RingFile;
use crate::io::bytes::read_at;
use crate::io::pages::{ChunkPage, RingPage};
use crate::io::run_path::RunPath;
use cutap_wire::PAGE;
use cutap_wire::record::{Cursor, Record, Step};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, FULL, OPEN, RingHeader, chunk_offset};
use std::io;
use std::mem::offset_of;
use std::time::{Duration, Instant};

/// A record that stays unfinished for so long in a full chunk is not waited for.
const STUCK: Duration = Duration::from_secs(1);

/// Milliseconds that a ring gets at the end for records that are being written.
const PATIENCE: u32 = 20;

/// A ring that is read for its chunks.
#[derive(Debug)]
pub struct RawRing {
    chunks: ChunkFile,
    stuck: Option<Instant>,
    /// How often a record that is being written is waited for at the end.
    patience: u32,
}

/// A chunk that was read.
#[derive(Debug)]
pub struct RawChunk {
    /// Its place in the ring.
    pub place: u32,
    /// Its head, with the bytes and calls that were in use when it was read.
    pub head: [u8; CHUNK_HEADER],
    pub records: Vec<u8>,
    /// Bytes of a chunk of its ring.
    pub chunk_bytes: u32,
    /// Bytes of `records` before the first record that was being written.
    pub settled: usize,
    /// Its thread may still write to it.
    open: bool,
}

impl Default for RawChunk {
    fn default() -> RawChunk {
        RawChunk { place: 0, head: [0; CHUNK_HEADER], records: Vec::new(), chunk_bytes: 0, settled: 0, open: false }
    }
}

impl RawChunk {
    /// Its number in the ring.
    pub fn sequence(&self) -> u64 {
        self.page().sequence
    }

    /// Bytes of head and records.
    pub fn bytes(&self) -> u64 {
        (CHUNK_HEADER + self.records.len()) as u64
    }

    /// Its head as numbers.
    pub fn page(&self) -> ChunkPage {
        ChunkPage::parse(&self.head)
    }

    /// Counts its calls, as a reader of its records will. `may_be_called` says whether a slot is known.
    pub fn count(&self, count: &mut CallCount, may_be_called: &mut dyn FnMut(u32) -> bool) {
        let page = self.page();
        let before = count.begin(&page, self.chunk_bytes);
        let mut cursor = Cursor { offset: 0, ..Cursor::new(page.base_ticks, before) };
        let is_refused = loop {
            match cursor.step(&self.records, self.records.len(), true) {
                Step::Record(Record::Enter { slot, .. }) if !may_be_called(slot) => break true,
                Step::Record(_) => {}
                Step::Pending if CHUNK_HEADER + cursor.offset == page.reserved as usize => {
                    return count.read_whole(&page, cursor.calls, cursor.cut);
                }
                Step::Pending | Step::Damaged => break false,
            }
        };
        // Its thread may still write to one that is open.
        if !self.open {
            count.damaged(&page, cursor.calls.wrapping_sub(cursor.cut).wrapping_sub(u32::from(is_refused)));
        }
    }
}

impl RawRing {
    /// Opens ring number `ring` of a process. With `write`, chunks can be given back.
    pub fn open(folder: &RunPath, ring: u32, write: bool) -> io::Result<RawRing> {
        let chunks = ChunkFile::new(Box::new(RingFile::open(folder, ring, write)?));
        Ok(RawRing { chunks, stuck: None, patience: PATIENCE })
    }

    /// The first page, if it is finished.
    pub fn page(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; PAGE];
        self.chunks.exact(&mut bytes, 0)?;
        self.chunks.page = Some(RingPage::parse(&bytes)?);
        Some(bytes)
    }

    /// No thread has it, as its first page said the last time.
    pub fn abandoned(&self) -> bool {
        self.chunks.page.is_some_and(|page| page.abandoned)
    }

    /// Closes its file until it is read again.
    pub fn let_go(&self) {
        self.chunks.file.let_go();
    }

    /// Chunks after this one that can be read now: number and place, in order. With `last` also the open one, and
    /// those after a gap.
    pub fn ready(&mut self, after: u64, last: bool) -> Vec<(u64, u32)> {
        let heads = self.chunks.chunks().into_iter();
        let readable = heads.filter(|(head, _)| head.sequence > after && (last || head.state == FULL));
        let mut ready: Vec<(u64, u32)> = readable.map(|(head, n)| (head.sequence, n)).collect();
        if !last {
            let next = after.saturating_add(1);
            let whole = ready.iter().zip(0u64..).take_while(|(f, n)| f.0 == next.wrapping_add(*n)).count();
            ready.truncate(whole);
        }
        ready
    }

    /// Reads one of them. False when it is not finished, or holds another chunk by now.
    pub fn read(&mut self, which: (u64, u32), last: bool, chunk: &mut RawChunk) -> bool {
        while last && self.patience > 0 && !self.abandoned() {
            // A thread that lives may have been interrupted within a record: it needs a moment, and there is no later.
            match self.try_read(which, false, chunk) {
                false => std::thread::sleep(Duration::from_millis(1)),
                true => return true,
            }
            self.patience -= 1;
        }
        self.try_read(which, last, chunk)
    }

    /// Reads what is written of the chunk behind this one that its thread still writes to.
    pub fn read_open(&mut self, after: u64, chunk: &mut RawChunk) -> bool {
        let newest = self.chunks.chunks().pop().filter(|(head, _)| head.state == OPEN && head.sequence > after);
        newest.is_some_and(|(head, n)| self.try_read((head.sequence, n), true, chunk))
    }

    fn try_read(&mut self, (sequence, n): (u64, u32), last: bool, chunk: &mut RawChunk) -> bool {
        let (chunk_bytes, at) = (self.chunks.chunk_bytes(), self.chunks.place(n));
        let Some(page) = self.chunks.head(n).filter(|head| head.sequence == sequence) else { return false };
        let reserved = (page.reserved.min(chunk_bytes) as usize & !7).max(CHUNK_HEADER);
        let mut after = [0; CHUNK_HEADER];
        if self.chunks.exact(&mut chunk.head, at).is_none() {
            return false;
        }
        let settled = self.chunks.records(at + CHUNK_HEADER as u64, reserved - CHUNK_HEADER, &mut chunk.records);
        // Of a file that is cut off, what is there; the head says that it is not all.
        let all = chunk.records.len() == reserved - CHUNK_HEADER;
        chunk.records.truncate(chunk.records.len() & !7);
        let same = |head: &[u8]| ChunkPage::parse(head).sequence == sequence;
        if !all && !last || self.chunks.exact(&mut after, at).is_none() || !same(&chunk.head) || !same(&after) {
            return false;
        }
        let limit = (u64::from(page.calls) << 32 | reserved as u64).to_le_bytes();
        let word = offset_of!(ChunkHeader, head);
        chunk.head[word..word + 8].copy_from_slice(&limit);
        let abandoned = self.abandoned();
        let mut wait = || self.stuck.get_or_insert_with(Instant::now).elapsed() < STUCK;
        if !settled.whole && !last && !abandoned && wait() {
            return false;
        }
        self.stuck = None;
        (chunk.place, chunk.chunk_bytes) = (n, chunk_bytes);
        chunk.settled = settled.end.min(chunk.records.len());
        chunk.open = page.state == OPEN && !abandoned;
        true
    }

    /// Gives a chunk back to its writer.
    pub fn give_back(&self, place: u32) {
        self.chunks.give_back(place);
    }

    /// Gives back all full chunks up to this number: a collector was killed after it had copied them.
    pub fn give_back_up_to(&mut self, sequence: u64) {
        for n in 0..self.chunks.places() {
            if self.chunks.head(n).is_some_and(|head| head.state == FULL && (1..=sequence).contains(&head.sequence)) {
                self.chunks.give_back(n);
            }
        }
    }

    /// Number of the newest chunk. One that no writer can have reached is damage.
    pub fn newest(&mut self) -> u64 {
        let size = self.chunks.chunk_bytes();
        let heads = (0..self.chunks.places()).filter_map(|n| self.chunks.head(n)).filter(|head| head.makes_sense(size));
        heads.map(|head| head.sequence).filter(|n| *n < 1 << 32).max().unwrap_or(0)
    }

    /// What its heads tell of damage, where chunks are given back; with `overwrites`, by a writer that overwrites them
    /// whenever it likes.
    pub fn damaged_heads(&mut self, overwrites: bool) -> DamagedHeads {
        self.chunks.heads_damaged(if overwrites { Reuse::Any } else { Reuse::Read })
    }

    /// It holds records that were not given back.
    pub fn holds_records(&mut self) -> bool {
        self.chunks.refresh();
        self.chunks.chunks().iter().any(|(head, _)| head.reserved > CHUNK_HEADER as u32)
    }

    /// Bytes of its file, and what they must be at least. `None`: its first page is not finished or is damaged.
    pub fn length(&mut self) -> Option<(u64, u64)> {
        let page = self.chunks.refresh()?;
        let length = self.chunks.file.length().ok()?;
        Some((length, chunk_offset(page.chunks, page.chunk_bytes) as u64))
    }

    /// Its thread was killed while it made it, before its first call: it is empty, or lacks the word that the writer
    /// stores last, and holds nothing after what the writer stores before that.
    pub fn is_being_made(&self) -> bool {
        let length = self.chunks.file.length().unwrap_or(0);
        // It has one chunk at most.
        let most = PAGE + cutap_file::MOST_BYTES;
        if length == 0 {
            return true;
        }
        let mut bytes = Vec::new();
        let zero = |part: Option<&[u8]>| part.is_some_and(|part| part.iter().all(|b| *b == 0));
        (PAGE as u64..=most as u64).contains(&length)
            && read_at(&*self.chunks.file, 0, length as usize, &mut bytes).is_ok()
            && zero(bytes.get(..offset_of!(RingHeader, version)))
            && zero(bytes.get(offset_of!(RingHeader, tid)..))
    }
}
