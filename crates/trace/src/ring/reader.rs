//! The records of one ring, chunk after chunk. In consume mode a chunk that was read whole is given back to its writer.
//! Plain reads are enough: the page cache is coherent with the writer's mapping.

use super::call_count::CallCount;
use super::chunk_file::ChunkFile;
use crate::io::file::Bytes;
use crate::io::pages::ChunkPage;
use crate::io::unopened_files::is_short;
use cutap_wire::record::{Cursor, Record, Step};
use cutap_wire::ring::{CHUNK_HEADER, FREE};
use std::collections::VecDeque;

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;
/// A record that stays unfinished for so long, with others behind it, is not waited for any longer.
pub(super) const STUCK_NS: u64 = 1_000_000_000;

/// What stands in a ring.
#[derive(Debug)]
pub enum Item<'a> {
    /// A chunk begins, with records of its thread.
    Chunk(ChunkPage),
    Record(Record<'a>),
    /// The file was read again: what follows is newer than what was known so far.
    Reread,
}

/// Where reading stands in the current chunk.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) place: u32,
    pub(super) page: ChunkPage,
    pub(super) cursor: Cursor,
}

/// One ring file.
#[derive(Debug)]
pub struct Ring {
    pub(crate) chunks: ChunkFile,
    pub consume: bool,
    pub(super) current: Option<Current>,
    /// Sequence number of the last chunk that was opened.
    pub(super) sequence: u64,
    /// Chunks found beyond the current one: sequence and place.
    pub(super) ahead: VecDeque<(u64, u32)>,
    /// Where nothing changes: the place at which the next one is looked for.
    pub(super) next: u32,
    /// Places of chunks that were read whole and not given back.
    pub(super) finished_chunks: Vec<u32>,
    /// Bytes of the current chunk, the first of them at `start` of the chunk.
    pub(super) buffer: Vec<u8>,
    pub(super) start: usize,
    /// Where reading ends although the writer goes on: sequence and reserved bytes.
    pub(super) end: Option<(u64, u32)>,
    pub(super) stuck_since: Option<u64>,
    /// Step over what is not committed, up to the next record.
    pub(super) skip: bool,
    /// Records of this chunk that were cut off, unless it turns out to be damaged: then they are none.
    pub(super) cut_here: u64,
    /// Nobody writes to it, as far as is known: what makes no sense stays so.
    pub is_writerless: bool,
    /// It could be opened the last time.
    pub ready: bool,
    /// Chunks before the first one that was found: another reader had given them back.
    pub consumed: u64,
    /// Calls in them.
    pub calls_taken: u64,
    /// Chunks that were not there any more when their turn came: written over, or given back by another reader.
    pub missed: u64,
    /// What of the chunks that were read is damaged, and the calls that are lost.
    pub count: CallCount,
    /// Records of chunks before this one that were never finished.
    pub(super) cut: u64,
    /// Records of chunks before this one whose kind is not known.
    pub(super) unknown: u64,
}

impl Ring {
    pub fn new(file: Box<dyn Bytes>, consume: bool) -> Ring {
        Ring {
            chunks: ChunkFile::new(file),
            consume,
            current: None,
            sequence: 0,
            ahead: VecDeque::new(),
            next: 0,
            finished_chunks: Vec::new(),
            buffer: Vec::new(),
            start: 0,
            end: None,
            stuck_since: None,
            skip: false,
            cut_here: 0,
            is_writerless: false,
            ready: true,
            consumed: 0,
            calls_taken: 0,
            missed: 0,
            count: CallCount::default(),
            cut: 0,
            unknown: 0,
        }
    }

    /// True when no live thread owns the ring, as far as its first page tells.
    pub fn abandoned(&mut self) -> bool {
        match self.chunks.file.ready() {
            Err(e) if is_short(&e) => false,
            _ => self.chunks.refresh().is_none_or(|p| p.abandoned),
        }
    }

    /// It has copies of calls that a flight recorder would have lost.
    pub fn is_kept(&mut self) -> bool {
        self.chunks.page.or_else(|| self.chunks.refresh()).is_some_and(|page| page.has_copies)
    }

    /// Records that were never finished.
    pub fn cut(&self) -> u64 {
        self.cut + self.cut_here
    }

    /// Records of kinds and sub-kinds that are not known.
    pub fn unknown(&self) -> u64 {
        self.unknown + self.current.as_ref().map_or(0, |current| current.cursor.unknown.into())
    }

    /// Calls of its threads that only happened because we watch.
    pub fn self_induced(&mut self) -> u64 {
        self.chunks.refresh().map_or(0, |p| p.self_induced)
    }

    /// Nothing is expected of it: its file is closed until it is read again.
    pub fn let_go(&self) {
        self.chunks.file.let_go();
    }

    /// Hands out the heads of all chunks that hold something.
    pub fn heads(&mut self, mut sink: impl FnMut(&ChunkPage)) {
        for n in 0..self.chunks.places() {
            self.chunks.head_with_records(n).iter().for_each(|(page, _)| sink(page));
        }
    }

    /// Sets the end of reading to what is there now, for a ring whose writer goes on.
    pub fn end_here(&mut self) {
        if self.chunks.file.is_immutable() {
            return;
        }
        let last = self.chunks.chunks().into_iter().max_by_key(|(page, _)| page.sequence);
        self.end = last.map(|(page, _)| (page.sequence, page.reserved));
    }

    /// Hands out up to `most` items. `now` is CLOCK_MONOTONIC. False when there is nothing more for now. Where `sink`
    /// says of a record that no writer can have written it (false), the rest of its chunk is damaged.
    pub fn read(&mut self, now: u64, most: usize, sink: &mut impl FnMut(Item<'_>) -> bool) -> bool {
        // What cannot be read for want of a descriptor would look as if it were gone.
        self.ready = self.chunks.file.ready().is_ok();
        if !self.ready {
            return false;
        }
        let mut count = 0;
        while count < most {
            if self.current.is_none() {
                let Some(page) = self.open_next() else { return false };
                sink(Item::Chunk(page));
                count += 1;
            }
            let decoded = self.decode(most - count, sink);
            count += decoded;
            if decoded == 0 {
                if !self.go_on(now) {
                    return false;
                }
                sink(Item::Reread);
            }
        }
        true
    }

    /// Hands out records that are already in the buffer.
    fn decode(&mut self, most: usize, sink: &mut impl FnMut(Item<'_>) -> bool) -> usize {
        let Some(current) = &mut self.current else { return 0 };
        let Some(offset) = current.cursor.offset.checked_sub(self.start) else { return 0 };
        let mut cursor = Cursor { offset, ..current.cursor };
        let (mut count, mut refused) = (0, false);
        while count < most {
            // One that is not there yet must be read again from where it begins.
            let before = cursor;
            let Step::Record(record) = cursor.step(&self.buffer, self.buffer.len(), self.skip) else {
                cursor = before;
                break;
            };
            count += 1;
            if !sink(Item::Record(record)) {
                refused = true;
                break;
            }
            self.skip = false;
        }
        // A refused record is a call that is lost too.
        let calls = cursor.calls.wrapping_sub(u32::from(refused));
        current.cursor = Cursor { offset: cursor.offset + self.start, calls, ..cursor };
        if refused {
            let page = current.page;
            self.damaged(&page);
        }
        count
    }

    /// What stands at the cursor, and the cursor behind it.
    pub(super) fn peek(&self) -> Option<(Step<'_>, Cursor)> {
        let at = self.current.as_ref()?.cursor;
        let mut cursor = Cursor { offset: at.offset.checked_sub(self.start)?, ..at };
        let step = cursor.step(&self.buffer, self.buffer.len(), self.skip);
        Some((step, Cursor { offset: cursor.offset + self.start, ..cursor }))
    }

    /// Chunks that were read whole since the last time; in consume mode they are to be given back.
    pub fn take_finished_chunks(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.finished_chunks.drain(..)
    }

    /// Gives a chunk back to its writer.
    pub fn give_back(&mut self, n: u32) {
        self.chunks.give_back(n);
    }

    pub(super) fn set(&mut self, cursor: Cursor) {
        if let Some(current) = &mut self.current {
            current.cursor = cursor;
        }
    }

    /// Reads the chunk's head again, and what follows the cursor. `None` when it is another chunk now.
    pub(super) fn fill(&mut self) -> Option<ChunkPage> {
        let (place, sequence, offset) = self.current.as_ref().map(|c| (c.place, c.page.sequence, c.cursor.offset))?;
        let page = self.chunks.head(place).filter(|p| p.sequence == sequence)?;
        let length = self.reserved(&page).saturating_sub(offset).min(PIECE);
        let from = self.chunks.place(place) + offset as u64;
        let settled = self.chunks.records(from, length, &mut self.buffer);
        // What follows a record whose length was not there yet is left out.
        self.buffer.truncate(settled.end);
        self.start = offset;
        // While it was read, another reader may have given it back and the writer taken it again.
        if !self.consume && length > 0 && self.chunks.head(place).is_none_or(|p| p.sequence != sequence) {
            return None;
        }
        if let Some(current) = &mut self.current {
            current.page = page;
        }
        Some(page)
    }

    /// Bytes of a chunk that may be read.
    pub(super) fn reserved(&self, page: &ChunkPage) -> usize {
        let limit = self.end.filter(|(sequence, _)| *sequence == page.sequence).map_or(u32::MAX, |(_, bytes)| bytes);
        let chunk = self.chunks.chunk_bytes();
        (page.reserved.min(limit).min(chunk) as usize & !7).max(CHUNK_HEADER)
    }

    /// Opens the chunk that follows.
    fn open_next(&mut self) -> Option<ChunkPage> {
        if self.ahead.is_empty() {
            self.look_ahead();
        }
        while let Some((sequence, place)) = self.ahead.pop_front() {
            if self.end.is_some_and(|(end, _)| sequence > end) {
                return None;
            }
            let page = self.chunks.head(place).filter(|p| p.sequence == sequence && p.state != FREE);
            // More than this cannot have been written; the number is damaged.
            let is_number_damaged = page.is_some_and(|page| self.count.is_number_damaged(&page));
            let between = match is_number_damaged {
                true => 0,
                false => sequence.saturating_sub(self.sequence.saturating_add(1)).min(1 << 32),
            };
            let first = std::mem::replace(&mut self.sequence, sequence) == 0;
            *(if first { &mut self.consumed } else { &mut self.missed }) += between;
            let Some(page) = page else {
                self.missed += 1;
                continue;
            };
            if first && between > 0 {
                self.calls_taken = page.first_call.into();
            }
            let before = self.count.begin(&page, self.chunks.chunk_bytes());
            let cursor = Cursor::new(page.base_ticks, before);
            self.current = Some(Current { place, page, cursor });
            self.cut += std::mem::take(&mut self.cut_here);
            (self.start, self.skip, self.stuck_since) = (CHUNK_HEADER, false, None);
            self.buffer.clear();
            return Some(page);
        }
        None
    }
}
