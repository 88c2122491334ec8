//! The single-page files of a run directory, read field by field out of plain bytes.

use super::bytes::{clean, text_at, u32_at, u64_at};
use cutap_wire::diagnostic::COUNTERS;
use cutap_wire::process::{CLOCK_TSC, Process};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, FULL, KEPT_NOT_VALID, OPEN, OWNER_DIED, OWNER_TID, RingHeader};
use cutap_wire::{MAGIC, PAGE, VERSION};
use std::mem::offset_of;

/// What a process says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcPage {
    pub pid: u32,
    pub ppid: u32,
    pub tsc: bool,
    pub ticks_per_second: u64,
    pub start_ticks: u64,
    pub start_monotonic: u64,
    pub start_realtime: u64,
    pub rings: u32,
    pub forked: bool,
    pub driver: bool,
    /// When it was found to have ended; 0: not known.
    pub ended_monotonic: u64,
    pub counters: [u64; COUNTERS],
    pub parent: String,
    pub exe: String,
    pub arguments: Vec<String>,
}

impl ProcPage {
    /// `None` while the page is not finished, or when it is not one of this version.
    pub fn parse(page: &[u8]) -> Option<ProcPage> {
        if u64_at(page, offset_of!(Process, magic)) != MAGIC || u32_at(page, offset_of!(Process, version)) != VERSION {
            return None;
        }
        // The program's own words, for whoever asks which; where people read them, they are made printable.
        let own = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let from = offset_of!(Process, cmdline);
        let cmdline = page.get(from..(from + 1024).min(page.len())).unwrap_or(&[]);
        // Zeros fill the place up, so empty arguments at the end are not told from them.
        let end = cmdline.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        let arguments = cmdline[..end].split(|b| *b == 0).filter(|_| end > 0);
        let mut counters = [0; COUNTERS];
        for (n, counter) in counters.iter_mut().enumerate() {
            *counter = u64_at(page, offset_of!(Process, counters) + n * 8);
        }
        Some(ProcPage {
            pid: u32_at(page, offset_of!(Process, pid)),
            ppid: u32_at(page, offset_of!(Process, ppid)),
            tsc: u32_at(page, offset_of!(Process, clock)) == CLOCK_TSC,
            ticks_per_second: u64_at(page, offset_of!(Process, ticks_per_second)),
            start_ticks: u64_at(page, offset_of!(Process, start_ticks)),
            start_monotonic: u64_at(page, offset_of!(Process, start_monotonic)),
            start_realtime: u64_at(page, offset_of!(Process, start_realtime)),
            rings: u32_at(page, offset_of!(Process, rings)),
            forked: u32_at(page, offset_of!(Process, forked)) == 1,
            driver: u32_at(page, offset_of!(Process, driver)) == 1,
            ended_monotonic: u64_at(page, offset_of!(Process, end_ns)),
            counters,
            parent: clean(text_at(page, offset_of!(Process, parent), 64)),
            exe: own(text_at(page, offset_of!(Process, exe), 512)),
            arguments: arguments.map(own).collect(),
        })
    }
}

/// First page of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingPage {
    pub chunk_bytes: u32,
    /// Chunks in the file.
    pub chunks: u32,
    /// Thread that owns it now.
    pub tid: u32,
    /// No live thread owns it.
    pub abandoned: bool,
    /// Calls that only happened because we watch.
    pub self_induced: u64,
    /// It has copies of calls that a flight recorder would have lost.
    pub has_copies: bool,
    /// Another ring has what it holds.
    pub is_invalid: bool,
}

/// Bytes of a ring's first page that matter.
pub const RING_PAGE: usize = size_of::<RingHeader>();
/// No ring of ours has larger chunks; a page that claims it is damaged.
const LARGEST_CHUNK: usize = cutap_file::MOST_BYTES;

impl RingPage {
    /// `None` while the page is not finished, or when it makes no sense.
    pub fn parse(page: &[u8]) -> Option<RingPage> {
        let chunk_bytes = u32_at(page, offset_of!(RingHeader, chunk_bytes));
        let size = chunk_bytes as usize;
        let valid = u64_at(page, offset_of!(RingHeader, magic)) == MAGIC
            && u32_at(page, offset_of!(RingHeader, version)) == VERSION
            && (PAGE..=LARGEST_CHUNK).contains(&size)
            && size.is_multiple_of(PAGE);
        let owner = u32_at(page, offset_of!(RingHeader, owner));
        valid.then(|| RingPage {
            chunk_bytes,
            chunks: u32_at(page, offset_of!(RingHeader, chunks)),
            tid: u32_at(page, offset_of!(RingHeader, tid)),
            abandoned: owner & OWNER_DIED != 0 || owner & OWNER_TID == 0,
            self_induced: u64_at(page, offset_of!(RingHeader, self_induced)),
            has_copies: u32_at(page, offset_of!(RingHeader, copies)) != 0,
            is_invalid: u32_at(page, offset_of!(RingHeader, copies)) == KEPT_NOT_VALID,
        })
    }
}

/// Head of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPage {
    /// `FREE`, `OPEN` or `FULL`.
    pub state: u32,
    /// Thread whose records these are.
    pub tid: u32,
    /// Its place in the ring, from 1.
    pub sequence: u64,
    /// When it was opened, in ticks.
    pub base_ticks: u64,
    /// The same moment, CLOCK_MONOTONIC.
    pub base_monotonic: u64,
    /// Bytes in use.
    pub reserved: u32,
    /// Enter records so far.
    pub calls: u32,
    /// Enter records before this chunk.
    pub first_call: u32,
    /// There is something where no writer writes anything.
    pub strange: bool,
}

/// Fewest bytes of an enter record.
pub const SHORTEST_CALL: u32 = 16;

impl ChunkPage {
    /// Reads it; what is not there is 0, and sequence 0 is no chunk.
    pub fn parse(head: &[u8]) -> ChunkPage {
        let word = u64_at(head, offset_of!(ChunkHeader, head));
        ChunkPage {
            state: u32_at(head, offset_of!(ChunkHeader, state)),
            tid: u32_at(head, offset_of!(ChunkHeader, tid)),
            sequence: u64_at(head, offset_of!(ChunkHeader, sequence)),
            base_ticks: u64_at(head, offset_of!(ChunkHeader, base_ticks)),
            base_monotonic: u64_at(head, offset_of!(ChunkHeader, base_monotonic)),
            reserved: word as u32,
            calls: (word >> 32) as u32,
            first_call: u32_at(head, offset_of!(ChunkHeader, first_call)),
            strange: head.iter().take(CHUNK_HEADER).skip(offset_of!(ChunkHeader, first_call) + 4).any(|b| *b != 0),
        }
    }

    /// It is none yet, or none any more: a writer was just opening it.
    pub fn is_being_opened(&self) -> bool {
        self.sequence == 0 && !self.strange && self.state <= FULL
    }

    /// Whether the chunk may come after this one in a ring, with as many chunks between them as their numbers say. The
    /// one before may have been read while it was open.
    pub fn may_follow(&self, before: &ChunkPage, chunk_bytes: u32) -> bool {
        let chunks = self.sequence.saturating_sub(before.sequence);
        let most = u64::from(chunk_bytes / SHORTEST_CALL).saturating_mul(chunks);
        let calls = u64::from(self.first_call.wrapping_sub(before.calls));
        let is_exact = chunks == 1 && before.state != OPEN;
        chunks > 0 && self.base_monotonic >= before.base_monotonic && if is_exact { calls == 0 } else { calls <= most }
    }

    /// Whether a writer may have written it, of a ring with chunks of this size. One that is read while it is opened
    /// anew may look as if not.
    pub fn makes_sense(&self, chunk_bytes: u32) -> bool {
        !self.strange
            && self.state <= FULL
            && (CHUNK_HEADER as u32..=chunk_bytes).contains(&self.reserved)
            && self.reserved.is_multiple_of(8)
            && self.calls.wrapping_sub(self.first_call) <= chunk_bytes / SHORTEST_CALL
    }
}
