//! One process of a run: its page, its names and its rings, each of which may appear late. What cannot be read now is
//! tried in the next round.

use super::batch::Batch;
use super::names::Names;
use super::recorder::RingPosition;
use super::ring::Ring;
use cutap_file::{Block, Writer, kind};
use cutap_trace::{CachedFile, RawChunk, RawRing, RunPath, has_all_names, is_gone, living, monotonic};
use cutap_wire::diagnostic::CALL_WAITED;
use cutap_wire::{MAGIC, PAGE, VERSION, counts, names, process};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::mem::offset_of;

/// A ring file number beyond this is damage, not a process with so many threads.
pub(crate) const MOST_RINGS: u32 = 1 << 20;
/// Bytes of names in one block.
const MOST_NAMES: usize = 1 << 20;
/// Bytes of a file of counts.
const MOST_COUNTS: usize = counts::HEAD + counts::ENTRIES as usize * 8;

/// What a round does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// All that is there is appended; there is no other round.
    pub last: bool,
    /// Chunks are given back.
    pub consume: bool,
    /// What is in chunks that are not full is appended too.
    pub parts: bool,
}

#[derive(Debug)]
pub(super) struct Process {
    pub number: u32,
    pub name: String,
    page_file: CachedFile,
    pub page: Vec<u8>,
    /// The file knows of it.
    is_in_file: bool,
    /// It has ended, and was read to its end: looked at again in the last round.
    pub has_ended: bool,
    /// When that was found, CLOCK_MONOTONIC.
    ended_ns: u64,
    names: Option<Names>,
    /// Names may be missing: a record without one is a call.
    lacks_names: bool,
    /// Each ring, and its page as the file has it.
    pub rings: BTreeMap<u32, (Ring, Vec<u8>)>,
    before: BTreeMap<u32, RingPosition>,
}

impl Process {
    /// Opens one, of which the file has so much of its rings; none while its page is not finished.
    pub fn open(run: &RunPath, name: &str, number: u32, before: BTreeMap<u32, RingPosition>) -> Option<Process> {
        let page_file = CachedFile::open(&run.join(name).join(process::FILE), false).ok()?;
        // Finished is what a read before this one says.
        let page = read_page(&page_file).and_then(|_| read_page(&page_file))?;
        let (names, rings) = (None, BTreeMap::new());
        Some(Process {
            number,
            name: name.to_owned(),
            page_file,
            page,
            is_in_file: false,
            has_ended: false,
            ended_ns: 0,
            names,
            lacks_names: false,
            rings,
            before,
        })
    }

    /// Appends what is new.
    pub fn round(
        &mut self,
        run: &RunPath,
        writer: &mut Writer<File>,
        Round { last, consume, parts }: Round,
        batch: &mut Batch,
        beat: &mut dyn FnMut(),
    ) -> io::Result<bool> {
        let folder = run.join(&self.name);
        let number = self.number;
        let block = |kind, ring, at| Block::new(kind, number, ring, at);
        let page = read_page(&self.page_file).unwrap_or_else(|| self.page.clone());
        let first = !std::mem::replace(&mut self.is_in_file, true);
        if first {
            writer.write(block(kind::PROCESS, 0, 0), &[], self.name.as_bytes())?;
        }
        if first || last {
            let mut page = page.clone();
            if last && is_gone(pid(&page)) {
                let ended_ns = if self.has_ended { self.ended_ns } else { monotonic() };
                page[offset_of!(process::Process, end_ns)..][..8].copy_from_slice(&ended_ns.to_le_bytes());
            }
            // Who waits and has not ended continues: perhaps for us, while a flight recorder is copied.
            if living(pid(&page)).is_some() {
                page[offset_of!(process::Process, counters) + CALL_WAITED * 8..][..8].fill(0);
            }
            writer.write(block(kind::PAGE, 0, 0), &[], trimmed(&page))?;
        }
        self.page = page;
        if self.names.is_none() {
            self.names = Names::open(&folder.join(names::FILE)).ok();
        }
        self.read_names(last, writer)?;
        let mut has_new = false;
        // First all are opened: the folder may be removed later, and a thread that waits for room has its ring open.
        for k in 0..rings(&self.page).min(MOST_RINGS) {
            if let Entry::Vacant(place) = self.rings.entry(k) {
                let Ok(raw) = RawRing::open(&folder, k, consume) else { continue };
                let (sequence, open) = self.before.get(&k).copied().unwrap_or_default();
                place.insert((Ring::new(raw, sequence, open), Vec::new()));
            }
        }
        for k in 0..rings(&self.page).min(MOST_RINGS) {
            // Taken out, so that reading it may read names too.
            let Some((mut ring, mut written)) = self.rings.remove(&k) else { continue };
            let copied = self.copy_ring(run, writer, (k, &mut ring, &mut written), (last, consume), batch, beat);
            let copied = copied.and_then(|copied| {
                if parts && !last && !written.is_empty() {
                    self.copy_part(writer, (k, &mut ring), batch.single())?;
                    beat();
                }
                Ok(copied)
            });
            self.rings.insert(k, (ring, written));
            has_new |= copied?;
        }
        if last {
            self.read_names(true, writer)?;
            self.copy_counts(&folder, writer)?;
        }
        self.has_ended = !has_new && !self.rings.is_empty() && self.rings.values().all(|ring| ring.0.raw.abandoned());
        self.has_ended &= is_gone(pid(&self.page));
        self.ended_ns = match (self.has_ended, self.ended_ns) {
            (true, 0) => monotonic(),
            (true, since) => since,
            (false, _) => 0,
        };
        if self.has_ended {
            self.let_go();
        }
        Ok(has_new)
    }

    /// Appends the new chunks of a ring. True when there were some.
    fn copy_ring(
        &mut self,
        run: &RunPath,
        writer: &mut Writer<File>,
        (k, ring, written): (u32, &mut Ring, &mut Vec<u8>),
        (last, consume): (bool, bool),
        batch: &mut Batch,
        beat: &mut dyn FnMut(),
    ) -> io::Result<bool> {
        let number = self.number;
        let block = |kind, at| Block::new(kind, number, k, at);
        let Some(page) = ring.raw.page() else { return Ok(false) };
        if consume && written.is_empty() {
            ring.raw.give_back_up_to(ring.sequence);
        }
        if written.is_empty() || last {
            writer.write(block(kind::RING, 0), &[], trimmed(&page))?;
            *written = page;
        }
        let (mut ready, mut has_new) = (ring.raw.ready(ring.sequence, last).into_iter(), false);
        loop {
            let read = batch.next(ring, &mut ready, last, &|sequence| block(kind::CHUNK, sequence))?;
            if read.is_empty() {
                return Ok(has_new);
            }
            self.read_names(false, writer)?;
            for packed in read {
                let mut names = Ok(());
                let mut may_be_called = |slot| {
                    self.may_be_called(run, slot, writer).unwrap_or_else(|e| {
                        names = Err(e);
                        true
                    })
                };
                ring.count(&packed.chunk, &mut may_be_called);
                names?;
                writer.append(&packed.packed)?;
                ring.copied(&packed.chunk, consume);
                beat();
            }
            has_new = true;
        }
    }

    /// Appends what the chunk that is being written has more than the file.
    fn copy_part(
        &mut self,
        writer: &mut Writer<File>,
        (k, ring): (u32, &mut Ring),
        chunk: &mut RawChunk,
    ) -> io::Result<()> {
        let Some(from) = ring.read_part(chunk) else { return Ok(()) };
        self.read_names(true, writer)?;
        let plain = [&(from as u64).to_le_bytes()[..], &chunk.head].concat();
        let body = chunk.records.get(from..).unwrap_or_default();
        writer.write(Block::new(kind::PART, self.number, k, chunk.sequence()), &plain, body)?;
        ring.part_copied(chunk);
        Ok(())
    }

    /// Appends how often calls were only counted.
    fn copy_counts(&self, folder: &RunPath, writer: &mut Writer<File>) -> io::Result<()> {
        for k in 0..rings(&self.page).min(MOST_RINGS) {
            for (n, name) in counts::FILES.iter().enumerate() {
                // Most threads count nothing and have no such file.
                let Ok(bytes) = folder.join(format!("t{k}.{name}")).read(MOST_COUNTS) else { continue };
                writer.write(Block::new(kind::COUNTS, self.number, k, n as u64), &[], trimmed(&bytes))?;
            }
        }
        Ok(())
    }

    /// Appends the names that are new. Unless `all`, only if there seem to be some.
    fn read_names(&mut self, all: bool, writer: &mut Writer<File>) -> io::Result<()> {
        let block = |at| Block::new(kind::NAMES, self.number, 0, at);
        let Some(names) = &mut self.names else { return Ok(()) };
        names.read(all, &mut |at, bytes| {
            let mut pieces = (at..).step_by(MOST_NAMES).zip(bytes.chunks(MOST_NAMES));
            pieces.try_for_each(|(at, bytes)| writer.write(block(at), &[], bytes))
        })
    }

    /// Whether this slot has a name, or may have had one. Names are written before any record refers to them.
    #[inline]
    fn may_be_called(&mut self, run: &RunPath, slot: u32, writer: &mut Writer<File>) -> io::Result<bool> {
        let has = |names: &Option<Names>| names.as_ref().is_some_and(|names| names.has(slot));
        if has(&self.names) || self.lacks_names {
            return Ok(true);
        }
        self.read_names(true, writer)?;
        if !has(&self.names) {
            self.lacks_names = !has_all_names(run, &self.name);
        }
        Ok(has(&self.names) || self.lacks_names)
    }

    /// No thread has a ring of it, as far as was read.
    pub fn is_left(&self) -> bool {
        self.is_in_file && self.rings.values().all(|ring| ring.0.raw.abandoned())
    }

    /// Nothing is expected of it: its files are closed until they are read again.
    fn let_go(&self) {
        self.page_file.let_go();
        self.names.iter().for_each(Names::let_go);
        self.rings.values().for_each(|ring| ring.0.raw.let_go());
    }
}

pub(super) fn read_page(file: &CachedFile) -> Option<Vec<u8>> {
    let mut page = vec![0; PAGE];
    file.read_exact_at(&mut page, 0).ok()?;
    (page[..8] == MAGIC.to_le_bytes() && page[8..12] == VERSION.to_le_bytes()).then_some(page)
}

/// Its number, as it sees it itself.
fn pid(page: &[u8]) -> u32 {
    number(page, offset_of!(process::Process, pid))
}

/// Ring files that the process has made.
pub(super) fn rings(page: &[u8]) -> u32 {
    number(page, offset_of!(process::Process, rings))
}

/// Those of them that were finished; 0 where that was not counted.
pub(super) fn finished(page: &[u8]) -> u32 {
    number(page, offset_of!(process::Process, finished))
}

fn number(page: &[u8], at: usize) -> u32 {
    page[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

/// A page without the zeros at its end.
pub(super) fn trimmed(page: &[u8]) -> &[u8] {
    &page[..page.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)]
}
