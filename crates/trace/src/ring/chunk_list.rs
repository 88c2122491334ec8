//! Which chunks of a ring there are. A live ring's are looked at all together, for its writer goes on meanwhile; those of a recording
//! one after the other, for there are many and nothing changes.

use super::damage::in_order;
use super::reader::Ring;
use crate::io::pages::ChunkPage;
use cutap_wire::PAGE;
use cutap_wire::ring::{CHUNK_HEADER, FREE};

impl Ring {
    /// Finds the chunks behind the last one. Heads are read one after the other while the writer goes
    /// on, so one may be missed whose successor is seen: then they are read once more, and what comes
    /// after a hole is left for the next time.
    pub(super) fn look_ahead(&mut self) {
        if self.file.still() {
            return self.look_on();
        }
        for _ in 0..2 {
            let mut found: Vec<(u64, u32)> = self.chunks().into_iter().map(|(page, n)| (page.sequence, n)).collect();
            found.retain(|(sequence, _)| *sequence > self.sequence);
            let first = found.first().map_or(0, |f| f.0);
            let whole = found.iter().zip(0u64..).take_while(|(f, n)| f.0 == first.wrapping_add(*n)).count();
            found.truncate(whole);
            self.ahead = found.into();
            if first == self.sequence.saturating_add(1) {
                break;
            }
        }
    }

    /// The same where nothing changes and chunks stand in their order: the next one.
    fn look_on(&mut self) {
        let there = self.places();
        while self.ahead.is_empty() && self.next < there {
            let held = self.held(self.next);
            self.ahead
                .extend(held.map(|(page, n)| (page.sequence, n)).filter(|(sequence, _)| *sequence > self.sequence));
            self.next += 1;
        }
    }

    /// Chunks behind the last one that was read, which another reader has given back.
    pub fn given_back(&mut self) -> u64 {
        let size = self.page.map_or(0, |p| p.chunk_bytes);
        let heads = (0..self.places()).filter_map(|n| self.head(n)).filter(|p| p.makes_sense(size));
        let newest = heads.filter(|p| p.state == FREE).map(|p| p.sequence).max();
        // More than this cannot have been written; the number is damaged.
        newest.map_or(0, |newest| newest.saturating_sub(self.sequence).min(1 << 32))
    }

    /// Heads of all chunks that hold something, with their places, in the order of their numbers.
    pub(super) fn chunks(&mut self) -> Vec<(ChunkPage, u32)> {
        let there = self.places();
        let mut found = (0..there).filter_map(|n| self.held(n)).collect();
        in_order(&mut found);
        found
    }

    /// Places for chunks in the file.
    pub(super) fn places(&mut self) -> u32 {
        let Some(page) = self.refresh() else { return 0 };
        let bytes = self.file.length().unwrap_or(0).saturating_sub(PAGE as u64);
        let there = bytes.div_ceil(u64::from(page.chunk_bytes));
        let mut places = there.min(u64::from(page.chunks)) as u32;
        // The file grows before its page says so, and by one; a page that says less is damaged.
        while u64::from(places) < there && self.held(places).is_some() {
            places += 1;
        }
        places
    }

    /// The head of a chunk that holds something, with its place.
    pub(super) fn held(&self, n: u32) -> Option<(ChunkPage, u32)> {
        let size = self.page.map_or(0, |p| p.chunk_bytes);
        let holds = |page: &ChunkPage| page.sequence != 0 && page.state != FREE && page.makes_sense(size);
        self.head(n).filter(holds).map(|page| (page, n))
    }

    /// A chunk's head: state and number as they were before the rest. `None` when it was opened anew
    /// in between.
    pub(super) fn head(&self, n: u32) -> Option<ChunkPage> {
        let (mut before, mut head) = ([0; CHUNK_HEADER], [0; CHUNK_HEADER]);
        self.exact(&mut before, self.place(n))?;
        self.exact(&mut head, self.place(n))?;
        let (before, after) = (ChunkPage::parse(&before), ChunkPage::parse(&head));
        (before.sequence == after.sequence).then_some(ChunkPage { state: before.state, ..after })
    }
}
