//! Which chunks of a ring on disk are damaged, by their heads: the one rule for all readers of a run directory. A chunk
//! that is being written, opened again or given back must never look damaged, so what changes is read twice.
//!
//! Limits, which nothing notices. Bytes may have changed within arguments, memory or times of a record, and within the
//! times or the thread of a head. A last part may be all zeros. A ring file may have been emptied, or filled with zeros
//! as a whole. For a flight recorder the number of missing parts counts some of the damaged ones too.

use super::call_count::is_without_calls;
use super::chunk_file::ChunkFile;
use crate::io::bytes::read_at;
use crate::io::pages::ChunkPage;
use cutap_wire::ring::{CHUNK_HEADER, FREE};

/// So many chunks that are not there are a number in a damaged page, and told as one.
const MOST_ABSENT: u64 = 1 << 16;

/// Who takes chunks of a ring again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Nobody: all that were written are there, the first one too.
    Never,
    /// Their writer, when a reader has given them back, in their order; or nobody knows.
    Read,
    /// Their writer, whenever it likes (a flight recorder).
    Any,
}

/// What the heads tell.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DamagedHeads {
    /// Chunks that are damaged, or not there.
    pub damaged: u64,
    /// Numbers that are missing with them.
    pub numbers: u64,
}

impl ChunkFile {
    /// Looks at all of them. Of a recording its blocks tell.
    pub(crate) fn heads_damaged(&mut self, reuse: Reuse) -> DamagedHeads {
        // What cannot be read for want of a descriptor may well be whole.
        if self.file.is_immutable() || self.file.ready().is_err() {
            return DamagedHeads::default();
        }
        let there = self.places();
        let absent = u64::from(self.page.map_or(0, |p| p.chunks).saturating_sub(there));
        let absent = if absent > MOST_ABSENT { 1 } else { absent };
        let bad = (0..there).filter(|n| self.is_bad(*n, reuse)).count();
        let (heads, wrong) = self.numbered(true);
        let numbers = if reuse == Reuse::Any { 0 } else { self.missing(&heads, reuse) };
        let holes = numbers.min((there as usize).saturating_sub(heads.len()) as u64);
        DamagedHeads { damaged: holes.max((bad + wrong) as u64) + absent, numbers }
    }

    /// Numbers between the chunks that are held, and before the first where none is given back.
    fn missing(&mut self, heads: &[(ChunkPage, u32)], reuse: Reuse) -> u64 {
        let (Some((first, place)), Some((last, _))) = (heads.first(), heads.last()) else { return 0 };
        let from = if reuse == Reuse::Never { 1 } else { first.sequence };
        let all = last.sequence.saturating_sub(from).saturating_add(1);
        if all <= heads.len() as u64 {
            return 0;
        }
        // One may have been opened behind the look at its place.
        let reopened = (0..self.places()).filter_map(|n| self.head_with_records(n)).map(|(page, _)| page.sequence);
        let sequences: std::collections::BTreeSet<u64> =
            heads.iter().map(|(page, _)| page.sequence).chain(reopened).collect();
        let missing = all.saturating_sub(sequences.range(from..=last.sequence).count() as u64);
        let none = heads.windows(2).filter(|pair| is_without_calls(&pair[0].0, &pair[1].0));
        let none: u64 = none.map(|pair| pair[1].0.sequence - pair[0].0.sequence - 1).sum();
        let missing = missing.saturating_sub(none);
        // They are given back in order: as long as the first one is there, so are all others.
        let is_first_present = self.head_with_records(*place).is_some_and(|(page, _)| page.sequence == first.sequence);
        if is_first_present { missing } else { 0 }
    }

    /// There is no head where one must be, or one that no writer wrote.
    fn is_bad(&self, n: u32, reuse: Reuse) -> bool {
        let (mut head, mut reread) = ([0; CHUNK_HEADER], [0; CHUNK_HEADER]);
        if self.exact(&mut head, self.place(n)).is_none() {
            return true;
        }
        let written = |ring: &ChunkFile| ring.has_records(n);
        let page = ChunkPage::parse(&head);
        let size = self.chunk_bytes();
        let bad = if head.iter().all(|b| *b == 0) {
            written(self)
        } else if page.is_being_opened() {
            // A new one has no records yet.
            reuse == Reuse::Never && written(self)
        } else if page.state == FREE && page.makes_sense(size) {
            reuse == Reuse::Never
        } else {
            !page.makes_sense(size)
        };
        // One that was opened a moment ago has its head by now.
        bad && self.exact(&mut reread, self.place(n)).is_some() && reread == head
    }

    /// Anything stands behind the head.
    fn has_records(&self, n: u32) -> bool {
        let size = self.chunk_bytes() as usize;
        let mut bytes = Vec::new();
        let from = self.place(n) + CHUNK_HEADER as u64;
        let read = read_at(&*self.file, from, size.saturating_sub(CHUNK_HEADER), &mut bytes);
        read.is_ok() && bytes.iter().any(|b| *b != 0)
    }
}
