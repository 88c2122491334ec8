//! Which chunk is read next. All heads of a live ring are read together, because its writer goes on meanwhile; those of
//! a recording one after the other, because there are many and nothing changes.

use super::reader::Ring;
use cutap_wire::ring::FREE;

impl Ring {
    /// Finds the chunks after the last one. Heads are read one after the other while the writer goes
    /// on, so one may be missed whose successor is seen: then they are read once more, and what comes
    /// after a gap is left for the next time.
    pub(super) fn look_ahead(&mut self) {
        if self.chunks.file.is_immutable() {
            return self.look_on();
        }
        for _ in 0..2 {
            let mut sequences: Vec<(u64, u32)> =
                self.chunks.chunks().into_iter().map(|(page, n)| (page.sequence, n)).collect();
            sequences.retain(|(sequence, _)| *sequence > self.sequence);
            let first = sequences.first().map_or(0, |f| f.0);
            let whole = sequences.iter().zip(0u64..).take_while(|(f, n)| f.0 == first.wrapping_add(*n)).count();
            sequences.truncate(whole);
            self.ahead = sequences.into();
            if first == self.sequence.saturating_add(1) {
                break;
            }
        }
    }

    /// Finds the next chunk of a recording, which has them in order.
    fn look_on(&mut self) {
        let there = self.chunks.places();
        while self.ahead.is_empty() && self.next < there {
            let head = self.chunks.head_with_records(self.next);
            self.ahead
                .extend(head.map(|(page, n)| (page.sequence, n)).filter(|(sequence, _)| *sequence > self.sequence));
            self.next += 1;
        }
    }

    /// Chunks after the last one that was read, which another reader has given back.
    pub fn given_back(&mut self) -> u64 {
        let size = self.chunks.chunk_bytes();
        let heads = (0..self.chunks.places()).filter_map(|n| self.chunks.head(n)).filter(|p| p.makes_sense(size));
        let newest = heads.filter(|p| p.state == FREE).map(|p| p.sequence).max();
        // More than this cannot have been written; the number is damaged.
        newest.map_or(0, |newest| newest.saturating_sub(self.sequence).min(1 << 32))
    }
}
