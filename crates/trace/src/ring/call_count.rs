//! The calls of a ring, chunk after chunk, and how many of them are lost: the one rule for readers of records and for
//! copies of chunks.
//!
//! Three numbers tell how many calls a ring has up to the end of a chunk: the chunk's head, the head of the next chunk,
//! and the enter records themselves. If one of them is damaged, the other two agree. Two that are damaged leave a part
//! whose calls are not counted.

use super::lost_calls::LostCalls;
use crate::io::pages::ChunkPage;
use cutap_wire::ring::OPEN;

/// So many missing chunks without any call are none: the number of the chunk behind them is damaged.
const NONE_MISSING: u64 = 2;

/// What is known of the chunks of a ring that were read.
#[derive(Debug, Default)]
pub struct CallCount {
    chunk: Option<Chunk>,
    before: Losses,
}

/// What is damaged and lost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Losses {
    /// Chunks that were read and are damaged.
    pub damaged: u64,
    /// Calls that are missing in those chunks.
    pub inside: LostCalls,
    /// Calls that are missing between chunks, because those that had them are not there.
    pub between: LostCalls,
}

/// The chunk that is read now, or was read last.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    head: ChunkPage,
    chunk_bytes: u32,
    /// Calls of the ring before it.
    start: u32,
    /// Two numbers agree on these.
    is_start_certain: bool,
    /// Missing chunks before it, and the calls of the ring up to them.
    gap: Option<(u64, u32)>,
    /// Its head does not fit to the chunk before, or to the one behind.
    is_head_damaged: bool,
    read: ReadState,
}

/// How far a chunk was read.
#[derive(Debug, Clone, Copy)]
enum ReadState {
    /// More may come.
    On,
    /// To its end, with so many calls of the ring. The second number of them were never finished.
    Whole(u32, u32),
    /// A part of it makes no sense, with which these calls are missing.
    Damaged(LostCalls),
    /// Its writer took it again when so many calls of the ring had been read.
    Reclaimed(u32),
}

/// A chunk of which nothing more will be read.
struct SettledChunk {
    losses: Losses,
    /// Calls of the ring up to its end.
    end: u32,
    is_certain: bool,
}

impl CallCount {
    /// A chunk begins. The calls of the ring before it.
    pub fn begin(&mut self, head: &ChunkPage, chunk_bytes: u32) -> u32 {
        let mut chunk = Chunk {
            head: *head,
            chunk_bytes,
            start: head.first_call,
            is_start_certain: false,
            gap: None,
            is_head_damaged: self.is_number_damaged(head),
            read: ReadState::On,
        };
        let missing = self.missing_before(head);
        if let Some(last) = &mut self.chunk {
            // A writer leaves a chunk before it opens the next one.
            last.is_head_damaged |=
                last.head.state == OPEN && !matches!(last.read, ReadState::On | ReadState::Reclaimed(_));
            let settled = last.settle((missing == 0).then_some(head.first_call));
            self.before = self.before.plus(settled.losses);
            if missing > 0 {
                chunk.gap = Some((missing, settled.end));
            } else if settled.is_certain {
                (chunk.start, chunk.is_start_certain) = (settled.end, true);
            }
        } else if head.sequence == 1 {
            (chunk.start, chunk.is_start_certain) = (0, true);
        }
        chunk.is_head_damaged |= chunk.start != head.first_call;
        self.chunk = Some(chunk);
        chunk.start
    }

    /// Whether the number of the chunk that comes next is damaged: chunks are missing before it, but no call.
    pub fn is_number_damaged(&self, head: &ChunkPage) -> bool {
        self.chunk.is_some_and(|last| {
            let whole = matches!(last.read, ReadState::Whole(calls, _) if calls == head.first_call);
            whole && is_without_calls(&last.head, head)
        })
    }

    /// All of the chunk was read, up to `calls` calls of the ring, of which `cut` in it were never finished.
    pub fn read_whole(&mut self, head: &ChunkPage, calls: u32, cut: u32) {
        if let Some(chunk) = &mut self.chunk {
            chunk.head = *head;
            if !matches!(chunk.read, ReadState::Damaged(_)) {
                chunk.read = ReadState::Whole(calls, cut);
            }
        }
    }

    /// The chunk makes no sense behind `calls` calls of the ring, and is not read further.
    pub fn damaged(&mut self, head: &ChunkPage, calls: u32) {
        if let Some(chunk) = &mut self.chunk {
            chunk.head = *head;
            let before = if let ReadState::Damaged(lost) = chunk.read { lost } else { LostCalls::default() };
            chunk.read = ReadState::Damaged(before.plus(LostCalls::between(calls, head.calls, 1, chunk.chunk_bytes)));
        }
    }

    /// The writer took the chunk again when so many calls of the ring had been read.
    pub fn reclaimed(&mut self, calls: u32) {
        self.chunk.iter_mut().for_each(|chunk| chunk.read = ReadState::Reclaimed(calls));
    }

    /// What is damaged and lost so far.
    pub fn losses(&self) -> Losses {
        self.chunk.map_or(self.before, |chunk| self.before.plus(chunk.settle(None).losses))
    }

    /// Missing chunks between the last one and this one.
    fn missing_before(&self, head: &ChunkPage) -> u64 {
        let Some(last) = self.chunk.filter(|_| !self.is_number_damaged(head)) else { return 0 };
        let between = head.sequence.saturating_sub(last.head.sequence).saturating_sub(1);
        if matches!(last.read, ReadState::Reclaimed(_)) { between.max(1) } else { between }
    }
}

/// Whether chunks are missing between two, but no call.
pub fn is_without_calls(before: &ChunkPage, next: &ChunkPage) -> bool {
    next.sequence.saturating_sub(before.sequence) > NONE_MISSING && next.first_call == before.calls
}

impl Chunk {
    /// `next`: calls of the ring before the next chunk, as that one's head says.
    fn settle(&self, next: Option<u32>) -> SettledChunk {
        let (head, none) = (self.head.calls, LostCalls::default());
        let (mut start, mut is_damaged) = (self.start, self.is_head_damaged);
        let uncounted = LostCalls::uncounted(1);
        let (end, is_certain, inside) = match self.read {
            ReadState::On => (head, false, none),
            ReadState::Reclaimed(calls) => (calls, false, none),
            ReadState::Damaged(lost) => {
                is_damaged = true;
                match next {
                    Some(next) if next != head => (next, false, uncounted),
                    next => (head, next.is_some(), lost),
                }
            }
            ReadState::Whole(calls, cut) if calls == head => match next {
                // A recording may have it as it was when its writer had not left it.
                Some(next) if self.head.state == OPEN && next != head => {
                    let rest = LostCalls::between(calls.wrapping_sub(cut), next, 1, self.chunk_bytes);
                    (next, true, rest)
                }
                _ => (head, true, none),
            },
            ReadState::Whole(calls, cut) => {
                is_damaged = true;
                // The last bytes of a chunk that its writer has left are records too.
                let is_all = self.head.reserved == self.chunk_bytes;
                let rest = LostCalls::between(calls.wrapping_sub(cut), head, 1, self.chunk_bytes);
                match next {
                    Some(next) if next == calls => (calls, true, none),
                    Some(next) if next == head && is_all && !self.is_start_certain => {
                        start = head.wrapping_sub(calls.wrapping_sub(start));
                        (head, true, none)
                    }
                    Some(next) if next == head => (head, true, rest),
                    Some(next) => (next, false, uncounted),
                    None if is_all && self.is_start_certain => (calls, true, none),
                    // Either bytes in use or calls are damaged: both are one word.
                    None => (head, false, uncounted),
                }
            }
        };
        let between = |(chunks, calls)| LostCalls::between(calls, start, chunks, self.chunk_bytes);
        let losses = Losses { damaged: is_damaged.into(), inside, between: self.gap.map_or(none, between) };
        SettledChunk { losses, end, is_certain }
    }
}

impl Losses {
    fn plus(self, other: Losses) -> Losses {
        Losses {
            damaged: self.damaged + other.damaged,
            inside: self.inside.plus(other.inside),
            between: self.between.plus(other.between),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, FULL};
    use std::mem::offset_of;

    /// A full chunk with this number whose head counts these calls.
    fn head(sequence: u64, first_call: u32, calls: u32) -> ChunkPage {
        let mut head = [0; CHUNK_HEADER];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(offset_of!(ChunkHeader, state), &FULL.to_le_bytes());
        put(offset_of!(ChunkHeader, sequence), &sequence.to_le_bytes());
        put(offset_of!(ChunkHeader, head), &(u64::from(calls) << 32 | 4096).to_le_bytes());
        put(offset_of!(ChunkHeader, first_call), &first_call.to_le_bytes());
        ChunkPage::parse(&head)
    }

    /// What is damaged and lost of chunks, each with the calls in it that could be read, and whether to its end.
    fn lost(chunks: &[(ChunkPage, u32, bool)]) -> (u64, u64, u64, u64) {
        let mut count = CallCount::default();
        for (head, calls, whole) in chunks {
            let calls = count.begin(head, 4096).wrapping_add(*calls);
            if *whole { count.read_whole(head, calls, 0) } else { count.damaged(head, calls) }
        }
        let Losses { damaged, inside, between } = count.losses();
        (damaged, inside.counted, between.counted, inside.uncounted + between.uncounted)
    }

    #[test]
    fn two_numbers_outvote_the_third() {
        let [a, b, c] = [head(1, 0, 10), head(2, 10, 30), head(3, 30, 60)];
        assert_eq!(lost(&[(a, 10, true), (b, 20, true), (c, 30, true)]), (0, 0, 0, 0));
        assert_eq!(lost(&[(a, 10, true), (b, 15, false), (c, 30, true)]), (1, 5, 0, 0), "records");
        assert_eq!(lost(&[(a, 10, true), (b, 15, true), (c, 30, true)]), (1, 5, 0, 0), "records behind the end");
        assert_eq!(
            lost(&[(a, 10, true), (head(2, 10, 99), 20, true), (c, 30, true)]),
            (1, 0, 0, 0),
            "calls up to its end"
        );
        assert_eq!(lost(&[(a, 10, true), (head(2, 99, 30), 20, true), (c, 30, true)]), (1, 0, 0, 0), "calls before it");
        assert_eq!(lost(&[(head(1, 5, 10), 10, true), (b, 20, true), (c, 30, true)]), (1, 0, 0, 0), "before the first");
        assert_eq!(lost(&[(a, 10, true), (head(2, 10, 99), 15, false), (c, 30, true)]), (1, 0, 0, 1), "two of them");
    }

    #[test]
    fn chunks_that_are_not_there() {
        let [a, c, d] = [head(1, 0, 10), head(3, 30, 60), head(4, 60, 70)];
        assert_eq!(lost(&[(a, 10, true), (c, 30, true)]), (0, 0, 20, 0));
        assert_eq!(lost(&[(a, 10, true), (head(3, 35, 60), 30, true), (d, 10, true)]), (1, 0, 20, 0));
        // The number of the last is damaged: no call is missing before it.
        assert_eq!(lost(&[(a, 10, true), (head(77, 10, 20), 10, true)]), (1, 0, 0, 0));
        let open = ChunkPage { state: OPEN, ..a };
        assert_eq!(lost(&[(open, 10, true), (head(2, 10, 30), 20, true)]), (1, 0, 0, 0));
        assert_eq!(lost(&[(open, 10, true)]), (0, 0, 0, 0));
        assert_eq!(lost(&[(open, 10, true), (head(2, 14, 30), 16, true)]), (1, 4, 0, 0));
    }
}
