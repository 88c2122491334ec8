//! One ring on its way into a recording: which of its chunks the recording holds, and how many of them are missing or
//! damaged.

use cutap_trace::{CallCount, LostCalls, RawChunk, RawRing, monotonic};

#[derive(Debug)]
pub struct Ring {
    pub raw: RawRing,
    /// Number of the last chunk that was copied.
    pub sequence: u64,
    /// The calls of those that were copied, and what of them is damaged.
    count: CallCount,
    /// One was copied since the recording was opened.
    has_copied: bool,
    /// Bytes that were copied and that the recording did not have before.
    pub added: u64,
    /// The chunk that was open when the recording that is added to was written, and its bytes there.
    open: (u64, u64),
    /// Chunks after the first one wanted that were not copied.
    skipped: u64,
    /// Those of them that are missing between two that were copied.
    holes: u64,
    /// The last chunk of which parts were copied, and how far they are settled.
    parts: (u64, usize),
    /// Bytes of records that those parts have.
    in_parts: usize,
    /// When it was last seen to have grown, CLOCK_MONOTONIC.
    pub grown_ns: u64,
}

impl Ring {
    /// `sequence` is the last chunk that was copied before; `open` the one that was open then, and its bytes in the
    /// recording.
    pub fn new(raw: RawRing, sequence: u64, open: (u64, u64)) -> Ring {
        Ring {
            raw,
            sequence,
            count: CallCount::default(),
            has_copied: false,
            added: 0,
            open,
            skipped: 0,
            holes: 0,
            parts: (0, 0),
            in_parts: 0,
            grown_ns: monotonic(),
        }
    }

    /// Counts the calls of a chunk that is copied. `may_be_called` says whether a slot is known.
    pub fn count(&mut self, chunk: &RawChunk, may_be_called: &mut dyn FnMut(u32) -> bool) {
        let page = chunk.page();
        if !self.count.is_number_damaged(&page) {
            let between = page.sequence.saturating_sub(self.sequence.saturating_add(1)).min(1 << 32);
            self.skipped += between;
            self.holes += if self.has_copied { between } else { 0 };
        }
        chunk.count(&mut self.count, may_be_called);
    }

    /// The recording has this chunk. With `consume` the writer gets it back.
    pub fn copied(&mut self, chunk: &RawChunk, consume: bool) {
        let page = chunk.page();
        let there = if page.sequence == self.open.0 { self.open.1 } else { 0 };
        self.added += chunk.bytes().saturating_sub(there);
        self.grown_ns = monotonic();
        (self.sequence, self.has_copied) = (self.sequence.max(page.sequence), true);
        if consume {
            self.raw.give_back(chunk.place);
        }
    }

    /// Reads what the chunk that is being written has more than its parts in the recording: where in its records the
    /// new bytes begin. None where there is nothing new.
    pub fn read_part(&mut self, chunk: &mut RawChunk) -> Option<usize> {
        if !self.raw.read_open(self.sequence, chunk) {
            return None;
        }
        if self.parts.0 != chunk.sequence() {
            (self.parts, self.in_parts) = ((chunk.sequence(), 0), 0);
        }
        let is_new = chunk.records.len() > self.in_parts || chunk.settled > self.parts.1;
        is_new.then_some(self.parts.1.min(chunk.records.len()))
    }

    /// The recording has this part.
    pub fn part_copied(&mut self, chunk: &RawChunk) {
        self.parts.1 = chunk.settled;
        self.in_parts = chunk.records.len();
        self.grown_ns = monotonic();
    }

    /// Chunks that there were and that were not copied.
    pub fn missing(&mut self) -> u64 {
        self.skipped.min(1 << 32) + self.raw.newest().saturating_sub(self.sequence)
    }

    /// Chunks that are damaged, and the calls that are lost with them. A number that is missing between two chunks is
    /// no damage in a flight recorder, whose writer may overwrite any chunk.
    pub fn damaged(&mut self, flight: bool) -> (u64, LostCalls) {
        let heads = self.raw.damaged_heads(flight);
        let holes = if flight { 0 } else { self.holes };
        let uncounted = heads.damaged.saturating_sub(heads.numbers.max(holes));
        let losses = self.count.losses();
        let lost = if flight { losses.inside } else { losses.inside.plus(losses.between) };
        (heads.damaged.max(holes) + losses.damaged, lost.plus(LostCalls::uncounted(uncounted)))
    }
}
