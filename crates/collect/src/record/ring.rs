//! One ring on its way into a recording: which of its chunks the recording holds, and how many of them are missing or
//! damaged.

use cutap_trace::{LostCalls, RawChunk, RawRing};

#[derive(Debug)]
pub struct Ring {
    pub raw: RawRing,
    /// Number of the last chunk that was copied.
    pub sequence: u64,
    /// Calls of the ring up to its end.
    calls: Option<u32>,
    /// Bytes that were copied and that the recording did not have before.
    pub added: u64,
    /// The chunk that was open when the recording that is added to was written, and its bytes there.
    open: (u64, u64),
    /// Chunks after the first one wanted that were not copied.
    skipped: u64,
    /// Those of them that are missing between two that were copied.
    holes: u64,
    /// Chunks that were copied and are damaged.
    corrupt: u64,
    /// Calls that are missing in damaged chunks, and between chunks.
    lost: (LostCalls, LostCalls),
}

impl Ring {
    /// `sequence` is the last chunk that was copied before; `open` the one that was open then, and its bytes in the
    /// recording.
    pub fn new(raw: RawRing, sequence: u64, open: (u64, u64)) -> Ring {
        let (lost, calls) = (Default::default(), None);
        Ring { raw, sequence, calls, added: 0, open, skipped: 0, holes: 0, corrupt: 0, lost }
    }

    /// The recording has this chunk, with the calls that are lost in it if it is damaged. With `consume` the writer
    /// gets it back.
    pub fn copied(&mut self, chunk: &RawChunk, damage: Option<LostCalls>, consume: bool) {
        let page = chunk.page();
        let between = page.sequence.saturating_sub(self.sequence.saturating_add(1)).min(1 << 32);
        self.skipped += between;
        if let Some(calls) = self.calls.filter(|_| between > 0) {
            self.holes += between;
            let lost = LostCalls::between(calls, page.first_call, between, chunk.chunk_bytes);
            self.lost.1 = self.lost.1.plus(lost);
        }
        self.corrupt += u64::from(damage.is_some());
        self.lost.0 = self.lost.0.plus(damage.unwrap_or_default());
        let there = if page.sequence == self.open.0 { self.open.1 } else { 0 };
        self.added += chunk.bytes().saturating_sub(there);
        (self.sequence, self.calls) = (self.sequence.max(page.sequence), Some(page.calls));
        if consume {
            self.raw.give_back(chunk.place);
        }
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
        let lost = if flight { self.lost.0 } else { self.lost.0.plus(self.lost.1) };
        (heads.damaged.max(holes) + self.corrupt, lost.plus(LostCalls::uncounted(uncounted)))
    }
}
