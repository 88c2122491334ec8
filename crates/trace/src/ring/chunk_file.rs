//! A ring's file as chunks: its first page, the heads of the chunks, and the bytes of each. Both readers of rings are
//! built on it: [`super::reader`] for records, [`super::raw`] for whole chunks.
//!
//! A read is no snapshot: a processor may copy later bytes first. Whatever marks something as finished is therefore
//! taken from a read that was made before the read of the thing itself.

use crate::io::bytes::{read_at, u64_at};
use crate::io::file::Bytes;
use crate::io::pages::{ChunkPage, RING_PAGE, RingPage};
use cutap_wire::PAGE;
use cutap_wire::record::COMMITTED;
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, FREE, chunk_offset};
use std::mem::offset_of;

/// Numbers of chunks that are in a ring at the same time lie closer together than this, however long one of them was
/// needed.
const WINDOW: u64 = 1 << 20;

/// A ring's file.
#[derive(Debug)]
pub struct ChunkFile {
    pub file: Box<dyn Bytes>,
    /// The first page as it was read last.
    pub page: Option<RingPage>,
    /// Records as they were in the read before.
    before: Vec<u8>,
}

/// Records that were read twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettledRecords {
    /// Bytes of records whose lengths are known.
    pub end: usize,
    /// Each of them was committed.
    pub whole: bool,
}

impl ChunkFile {
    pub fn new(file: Box<dyn Bytes>) -> ChunkFile {
        ChunkFile { file, page: None, before: Vec::new() }
    }

    /// Reads the first page again. `None` while it is not finished.
    pub fn refresh(&mut self) -> Option<RingPage> {
        let mut bytes = [0; RING_PAGE];
        self.exact(&mut bytes, 0)?;
        let page = RingPage::parse(&bytes)?;
        // The size of its chunks never changes; a page that says so is damaged.
        let same = self.page.is_none_or(|p| p.chunk_bytes == page.chunk_bytes);
        self.page = if same { Some(page) } else { self.page };
        self.page
    }

    /// Bytes of a chunk; 0 before the first page is finished.
    pub fn chunk_bytes(&self) -> u32 {
        self.page.map_or(0, |page| page.chunk_bytes)
    }

    /// Where a chunk is in the file.
    pub fn place(&self, n: u32) -> u64 {
        chunk_offset(n, self.chunk_bytes()) as u64
    }

    /// Fills the buffer. `None` if the file ends before.
    pub fn exact(&self, buffer: &mut [u8], at: u64) -> Option<()> {
        let mut bytes = Vec::new();
        read_at(&*self.file, at, buffer.len(), &mut bytes).ok()?;
        (bytes.len() == buffer.len()).then(|| buffer.copy_from_slice(&bytes))
    }

    /// Places for chunks in the file.
    pub fn places(&mut self) -> u32 {
        let Some(page) = self.refresh() else { return 0 };
        let bytes = self.file.length().unwrap_or(0).saturating_sub(PAGE as u64);
        let there = bytes.div_ceil(u64::from(page.chunk_bytes));
        let mut places = there.min(u64::from(page.chunks)) as u32;
        // The file grows before its page says so, and by one; a page that says less is damaged.
        while u64::from(places) < there && self.head_with_records(places).is_some() {
            places += 1;
        }
        places
    }

    /// A chunk's head, with the state that it had before the rest was read. `None` if the chunk was opened again in
    /// between.
    pub fn head(&self, n: u32) -> Option<ChunkPage> {
        let (mut before, mut head) = ([0; CHUNK_HEADER], [0; CHUNK_HEADER]);
        self.exact(&mut before, self.place(n))?;
        self.exact(&mut head, self.place(n))?;
        let (before, after) = (ChunkPage::parse(&before), ChunkPage::parse(&head));
        (before.sequence == after.sequence).then_some(ChunkPage { state: before.state, ..after })
    }

    /// The head of a chunk that holds records, with its place.
    pub fn head_with_records(&self, n: u32) -> Option<(ChunkPage, u32)> {
        let size = self.chunk_bytes();
        let is_valid = !self.page.is_some_and(|page| page.is_invalid);
        let has_records =
            |page: &ChunkPage| is_valid && page.sequence != 0 && page.state != FREE && page.makes_sense(size);
        self.head(n).filter(has_records).map(|page| (page, n))
    }

    /// Heads of all chunks that hold records, with their places, in the order of their numbers.
    pub fn chunks(&mut self) -> Vec<(ChunkPage, u32)> {
        self.numbered(false).0
    }

    /// The same, and how many have numbers that no writer gave them. `thorough` also judges chunks none of which is
    /// missing between the others.
    pub(super) fn numbered(&mut self, thorough: bool) -> (Vec<(ChunkPage, u32)>, usize) {
        let (there, size) = (self.places(), self.chunk_bytes());
        let mut heads: Vec<_> = (0..there).filter_map(|n| self.head_with_records(n)).collect();
        let before = heads.len();
        near_each_other(&mut heads);
        if thorough || !heads.windows(2).all(are_beside) {
            // Those that were given back tell what comes before the others. One that is opened again tells nothing.
            let is_free = |page: &ChunkPage| page.state == FREE && page.sequence != 0 && page.makes_sense(size);
            let free = (0..there).filter_map(|n| Some((self.head(n).filter(is_free)?, n)));
            let mut all: Vec<_> = free.filter(|(page, n)| self.head(*n) == Some(*page)).collect();
            all.append(&mut heads);
            by_number(&mut all, size);
            heads = all.into_iter().filter(|(page, _)| page.state != FREE).collect();
        }
        let wrong = before - heads.len();
        (heads, wrong)
    }

    /// Gives a chunk back to its writer.
    pub fn give_back(&self, n: u32) {
        let state = self.place(n) + offset_of!(ChunkHeader, state) as u64;
        // A chunk that cannot be given back costs disk space, and nothing else.
        let _ = self.file.write_at(&FREE.to_le_bytes(), state);
    }

    /// Reads the records from `at`, up to `len` bytes; the buffer then holds what is in the file. Only what was
    /// committed in an earlier read counts as committed.
    pub fn records(&mut self, at: u64, len: usize, buffer: &mut Vec<u8>) -> SettledRecords {
        // What cannot be read is not there: the reader meets a damaged record.
        if self.file.is_immutable() {
            let _ = read_at(&*self.file, at, len, buffer);
            return SettledRecords { end: buffer.len(), whole: true };
        }
        let _ = read_at(&*self.file, at, len, &mut self.before);
        let _ = read_at(&*self.file, at, self.before.len(), buffer);
        let settled = settle(&self.before, buffer);
        SettledRecords { end: settled.end.min(buffer.len()), whole: settled.whole && buffer.len() == self.before.len() }
    }
}

/// Puts chunks in the order of their numbers, without those whose numbers no writer can have reached; how many those
/// are.
pub fn in_order(heads: &mut Vec<(ChunkPage, u32)>, chunk_bytes: u32) -> usize {
    let before = heads.len();
    near_each_other(heads);
    by_number(heads, chunk_bytes);
    before - heads.len()
}

/// Whether two numbers may be in a ring at the same time.
fn is_near(one: u64, other: u64) -> bool {
    one.abs_diff(other) < WINDOW
}

/// Puts chunks in the order of their numbers. Only the longest stretch of numbers that lie close together stays, of two
/// the first; and one behind it that continues its calls.
fn near_each_other(heads: &mut Vec<(ChunkPage, u32)>) {
    heads.sort_unstable_by_key(|(page, n)| (page.sequence, *n));
    let near = |first: usize| {
        let from = heads.get(first).map_or(0, |f| f.0.sequence);
        heads.partition_point(|f| f.0.sequence < from || is_near(from, f.0.sequence))
    };
    let best = (0..heads.len()).map(|n| (near(n) - n, std::cmp::Reverse(n))).max();
    let (count, std::cmp::Reverse(from)) = best.unwrap_or((0, std::cmp::Reverse(0)));
    // The last one may have a wrong number, and be where it belongs.
    let end = from + count;
    let is_last = matches!(heads.get(from..), Some([.., (last, _), (far, _)]) if heads.len() == end + 1
        && far.first_call == last.calls && far.first_call > 0 && far.base_monotonic >= last.base_monotonic);
    heads.truncate(end + usize::from(is_last));
    heads.drain(..from);
}

/// One chunk comes directly after the other.
fn are_beside(pair: &[(ChunkPage, u32)]) -> bool {
    matches!(pair, [(a, _), (b, _)] if a.sequence.checked_add(1) == Some(b.sequence))
}

/// Puts chunks in the order of their numbers, without those whose numbers are damaged: where the number puts one, its
/// calls do not follow those of the chunk before. Only chunks beside a gap, or with the number of another, are judged.
/// Elsewhere the calls may be what is damaged.
fn by_number(heads: &mut Vec<(ChunkPage, u32)>, size: u32) {
    heads.sort_unstable_by_key(|(page, n)| (page.sequence, *n));
    let follows = |next: &(ChunkPage, u32), last: &(ChunkPage, u32)| next.0.may_follow(&last.0, size);
    let fit = |last: &(ChunkPage, u32), next: &(ChunkPage, u32)| are_beside(&[*last, *next]) || follows(next, last);
    let all = std::mem::take(heads);
    for (n, next) in all.iter().enumerate() {
        while let [before @ .., last] = &heads[..]
            && !fit(last, next)
        {
            let is_last_wrong = match (before.last(), all.get(n + 1)) {
                (Some(before), _) => !follows(last, before) && follows(next, before),
                (None, Some(behind)) => follows(behind, next) && !follows(behind, last),
                (None, None) => next.0.sequence != last.0.sequence,
            };
            if !is_last_wrong {
                break;
            }
            heads.pop();
        }
        if heads.last().is_none_or(|last| fit(last, next)) {
            heads.push(*next);
        }
    }
}

/// Takes back in `now` the first words of records that were not committed `before`, so that their other words are not
/// trusted.
fn settle(before: &[u8], now: &mut [u8]) -> SettledRecords {
    let (mut at, mut whole) = (0, true);
    while at + 8 <= before.len().min(now.len()) {
        let first = u64_at(before, at);
        let words = (first >> 5 & 0xff) as usize;
        if first & COMMITTED == 0 || words == 0 {
            now[at..at + 8].copy_from_slice(&first.to_le_bytes());
            whole = false;
        }
        at += words.max(1) * 8;
        if words == 0 {
            break;
        }
    }
    SettledRecords { end: at.min(before.len()), whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::record::{first_word, kind};

    #[test]
    fn commit_between_two_reads() {
        let record = |ticks: u32| [first_word(kind::THREAD, 2, 0, ticks), u64::from(ticks)];
        let bytes = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let ([a, one], [b, two], [c, three]) = (record(1), record(2), record(3));
        let done = |first: u64| first | COMMITTED;
        // The second is finished only in the later read; of the third the length was not there.
        let before = bytes(&[done(a), one, b, 0, 0, 0]);
        let mut now = bytes(&[done(a), one, done(b), two, done(c), three]);
        assert_eq!(settle(&before, &mut now), SettledRecords { end: 40, whole: false });
        assert_eq!(now, bytes(&[done(a), one, b, two, 0, three]));
        // A read that came out shorter, and one that ends within a record.
        for len in [0, 4, 8, 12, 16, 40] {
            let mut now = bytes(&[done(a), one, done(b), two, done(c), three]);
            now.truncate(len);
            settle(&before, &mut now);
        }
        let whole = bytes(&[done(a), one, done(b)]);
        let mut now = whole.clone();
        assert_eq!(settle(&whole, &mut now), SettledRecords { end: 24, whole: true });
        assert_eq!(now, whole);
    }
}
