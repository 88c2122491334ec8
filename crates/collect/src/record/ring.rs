//! One ring file: its full chunks in the order of their numbers, and at the end the open one. Reads as
//! `trace/ring.rs` does, with the same rule: what says that something is finished is taken from a read
//! before the one that it is taken from.

use cutap_trace::{Bytes, ChunkPage, RingFile, RingPage, in_order};
use cutap_wire::PAGE;
use cutap_wire::record::COMMITTED;
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, FREE, FULL, chunk_offset};
use std::mem::offset_of;
use std::time::{Duration, Instant};

/// A record that stays unfinished for so long in a full chunk is not waited for.
const STUCK: Duration = Duration::from_secs(1);

/// Milliseconds that a ring is given at the end, or in a dump, for records that are being written.
const PATIENCE: u32 = 20;

/// A ring.
#[derive(Debug)]
pub struct Ring {
    file: RingFile,
    page: Option<RingPage>,
    /// Number of the last chunk that was taken.
    pub sequence: u64,
    /// Bytes that were taken.
    bytes: u64,
    /// Those of them that the file did not have before.
    pub added: u64,
    /// The chunk that was open when the file that is added to was written, and its bytes there.
    open: (u64, u64),
    /// Chunks that are behind the first one wanted and were not taken one after the other.
    skipped: u64,
    /// Those of them that are not before the first one that was taken.
    holes: u64,
    stuck: Option<Instant>,
    /// How often a record that is being written is waited for at the end.
    patience: u32,
}

/// A chunk that was read.
#[derive(Debug, Default)]
pub struct Chunk {
    pub place: u64,
    pub sequence: u64,
    /// Its head, and behind it the records.
    pub bytes: Vec<u8>,
    /// The same as it was a moment before.
    before: Vec<u8>,
}

impl Ring {
    /// `sequence` is the last chunk that was taken before; `open` the one that was open then, and the bytes that were
    /// taken of it.
    pub fn new(file: RingFile, sequence: u64, open: (u64, u64)) -> Ring {
        Ring {
            file,
            page: None,
            sequence,
            bytes: 0,
            added: 0,
            open,
            skipped: 0,
            holes: 0,
            stuck: None,
            patience: PATIENCE,
        }
    }

    /// The ring's first page, if it is finished.
    pub fn page(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; PAGE];
        self.file.read_exact_at(&mut bytes, 0).ok()?;
        let page = RingPage::parse(&bytes)?;
        self.page = Some(page);
        Some(bytes)
    }

    /// No thread has it, as its first page said the last time.
    pub fn abandoned(&self) -> bool {
        self.page.is_some_and(|page| page.abandoned)
    }

    /// Nothing is expected of it: its file is closed until it is read again.
    pub fn let_go(&self) {
        self.file.let_go();
    }

    /// Chunks that can be taken now: number and place, in order. With `last`, also the open one, and
    /// those behind a gap.
    pub fn ready(&mut self, last: bool) -> Vec<(u64, u32)> {
        if self.page().is_none() {
            return Vec::new();
        }
        let Some(page) = self.page else { return Vec::new() };
        let wanted = |head: &ChunkPage| {
            head.sequence > self.sequence
                && (head.state == FULL || last && head.state != FREE)
                && head.makes_sense(page.chunk_bytes)
        };
        let places = if last { self.places() } else { page.chunks };
        let heads = (0..places).map_while(|n| Some((self.head(n)?, n)));
        let mut found: Vec<(ChunkPage, u32)> = heads.filter(|(head, _)| wanted(head)).collect();
        in_order(&mut found);
        let mut found: Vec<(u64, u32)> = found.into_iter().map(|(head, n)| (head.sequence, n)).collect();
        if !last {
            let next = self.sequence.saturating_add(1);
            let whole = found.iter().zip(0u64..).take_while(|(f, n)| f.0 == next.wrapping_add(*n)).count();
            found.truncate(whole);
        }
        found
    }

    /// Places for chunks; a page that says fewer than there are is damaged.
    fn places(&self) -> u32 {
        let Some(page) = self.page else { return 0 };
        let held = |n: u32| self.head(n).is_some_and(|head| head.sequence != 0 && head.makes_sense(page.chunk_bytes));
        (page.chunks..).find(|n| !held(*n)).unwrap_or(page.chunks)
    }

    /// Reads one of them. False when it is not finished, or another chunk by now.
    pub fn read(&mut self, which: (u64, u32), last: bool, chunk: &mut Chunk) -> bool {
        while last && self.patience > 0 && self.page.is_some_and(|p| !p.abandoned) {
            // A thread that lives may have been interrupted within a record: it needs a moment, and there is no later.
            match self.try_read(which, false, chunk) {
                false => std::thread::sleep(Duration::from_millis(1)),
                true => return true,
            }
            self.patience -= 1;
        }
        self.try_read(which, last, chunk)
    }

    fn try_read(&mut self, (sequence, n): (u64, u32), last: bool, chunk: &mut Chunk) -> bool {
        let Some(page) = self.page else { return false };
        let Some(head) = self.head(n).filter(|h| h.sequence == sequence) else { return false };
        let reserved = (head.reserved.min(page.chunk_bytes) as usize & !7).max(CHUNK_HEADER);
        let place = chunk_offset(n, page.chunk_bytes) as u64;
        let Chunk { before, bytes, .. } = chunk;
        // Of a file that is cut off, what is there; it says itself that it is not all.
        let there = if last { self.file.length().unwrap_or(0).saturating_sub(place) } else { u64::MAX };
        let there = reserved.min(usize::try_from(there).unwrap_or(reserved) & !7);
        before.resize(there, 0);
        bytes.resize(there, 0);
        if there < CHUNK_HEADER
            || self.file.read_exact_at(before, place).is_err()
            || self.file.read_exact_at(bytes, place).is_err()
        {
            return false;
        }
        // The head as it was when all that it counts was there.
        let (before, records) = before.split_at(CHUNK_HEADER);
        if ChunkPage::parse(before).sequence != sequence || ChunkPage::parse(&chunk.bytes).sequence != sequence {
            return false;
        }
        chunk.bytes[..CHUNK_HEADER].copy_from_slice(before);
        let limit = (u64::from(head.calls) << 32 | reserved as u64).to_le_bytes();
        let at = offset_of!(ChunkHeader, head);
        chunk.bytes[at..at + 8].copy_from_slice(&limit);
        let whole = settle(records, &mut chunk.bytes[CHUNK_HEADER..]);
        if !whole && !last && !page.abandoned && self.stuck.get_or_insert_with(Instant::now).elapsed() < STUCK {
            return false;
        }
        self.stuck = None;
        (chunk.place, chunk.sequence) = (place, sequence);
        true
    }

    /// It stands in the file: gives it back, if this is the collector of the run.
    pub fn taken(&mut self, chunk: &Chunk, consume: bool) {
        let between = chunk.sequence.saturating_sub(self.sequence.saturating_add(1));
        self.skipped += between;
        self.holes += if self.bytes > 0 { between.min(1 << 32) } else { 0 };
        self.bytes += chunk.bytes.len() as u64;
        let there = if chunk.sequence == self.open.0 { self.open.1 } else { 0 };
        self.added += (chunk.bytes.len() as u64).saturating_sub(there);
        self.sequence = self.sequence.max(chunk.sequence);
        if consume {
            let state = chunk.place + offset_of!(ChunkHeader, state) as u64;
            // A chunk that cannot be given back costs disk space, and nothing else.
            let _ = self.file.write_at(&FREE.to_le_bytes(), state);
        }
    }

    /// Chunks that there were and that were not taken. A number that no writer can have reached is damage.
    pub fn missing(&self) -> u64 {
        let size = self.page.map_or(0, |p| p.chunk_bytes);
        let heads = (0..self.places()).map_while(|n| self.head(n)).filter(|head| head.makes_sense(size));
        let newest = heads.map(|head| head.sequence).filter(|n| *n < 1 << 32).max().unwrap_or(0);
        self.skipped.min(1 << 32) + newest.saturating_sub(self.sequence)
    }

    /// Chunks of which whoever takes them away sees that they are damaged: a number is missing between two that were
    /// taken (not of a flight recorder, which may have written over any), or there are records and no head.
    pub fn damaged(&self, flight: bool) -> u64 {
        let headless = |n: &u32| {
            let place = chunk_offset(*n, self.page.map_or(0, |p| p.chunk_bytes)) as u64;
            let (mut bytes, mut again) = ([0; CHUNK_HEADER + 8], [0; CHUNK_HEADER]);
            let read =
                self.file.read_exact_at(&mut bytes, place).and_then(|()| self.file.read_exact_at(&mut again, place));
            // One that was opened a moment ago has its head by now.
            read.is_ok()
                && bytes[..CHUNK_HEADER] == [0; CHUNK_HEADER]
                && again == bytes[..CHUNK_HEADER]
                && bytes[CHUNK_HEADER..] != [0; 8]
        };
        let headless = (0..self.page.map_or(0, |p| p.chunks)).filter(headless).count() as u64;
        if flight { headless } else { headless.max(self.holes) }
    }

    /// Gives back what stands in the file since before: the collector was killed between the two.
    pub fn give_back_old(&mut self) {
        for n in 0..self.page.map_or(0, |p| p.chunks) {
            let Some(head) = self.head(n).filter(|h| h.state == FULL && (1..=self.sequence).contains(&h.sequence))
            else {
                continue;
            };
            let place = chunk_offset(n, self.page.map_or(0, |p| p.chunk_bytes)) as u64;
            self.taken(&Chunk { place, sequence: head.sequence, ..Chunk::default() }, true);
        }
    }

    /// A chunk's head: state and number as they were before the rest.
    fn head(&self, n: u32) -> Option<ChunkPage> {
        let place = chunk_offset(n, self.page?.chunk_bytes) as u64;
        let (mut before, mut head) = ([0; CHUNK_HEADER], [0; CHUNK_HEADER]);
        self.file.read_exact_at(&mut before, place).ok()?;
        self.file.read_exact_at(&mut head, place).ok()?;
        let (before, after) = (ChunkPage::parse(&before), ChunkPage::parse(&head));
        let same = before.sequence == after.sequence;
        // One that is opened again just now is nothing yet.
        let sequence = if same { after.sequence } else { 0 };
        Some(ChunkPage { state: before.state, sequence, ..after })
    }
}

/// Takes back what was not committed in the read before. False when some record was not.
fn settle(before: &[u8], records: &mut [u8]) -> bool {
    let (mut at, mut whole) = (0, true);
    while let Some(first) = before.get(at..).and_then(|b| b.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*first);
        let words = (word >> 5 & 0xff) as usize;
        if word & COMMITTED == 0 || words == 0 {
            records[at..at + 8].copy_from_slice(first);
            whole = false;
        }
        at += words.max(1) * 8;
    }
    whole
}
