//! Marks what a flight recorder no longer has to keep. The calls on which later ones depend are in separate rings,
//! and the program copies what is not marked when such a ring is full (`preload/ring/kept_calls.rs`). It cannot know
//! what is destroyed: that takes the descriptions of functions.
//!
//! A mark is one word: it makes a record one that readers step over. Only chunks that are full are marked. The program
//! may take such a chunk again meanwhile, so each record is compared before it is marked.

use crate::record::MOST_RINGS;
use crate::run_dir::control::Page;
use cutap_report::{CallPlace, EndedCalls};
use cutap_trace::{Bytes, ChunkPage, EventReader, ReaderOptions, RingFile, RingPage, RunPath};
use cutap_wire::PAGE;
use cutap_wire::record::{COMMITTED, META_MAX, kind};
use cutap_wire::ring::{CHUNK_HEADER, FULL, KEPT, RingHeader, chunk_offset};
use std::collections::{HashMap, HashSet};
use std::mem::offset_of;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// The time between two looks is so many times as long as reading the rings took.
const SHARE: u32 = 10;
/// The rings are read when one of them has so large a part of its chunks in use.
const FILLED: (u32, u32) = (3, 4);

/// Looks at the rings of kept calls now and then.
#[derive(Debug, Default)]
pub struct KeptCallsMarker {
    last: Option<Instant>,
    /// How long it took to read the rings.
    reading: Duration,
    /// The newest chunk of each ring at the last reading, by folder and number.
    newest_read: HashMap<(String, u32), u64>,
}

/// A ring of kept calls.
struct KeptRing {
    folder: Arc<str>,
    number: u32,
    file: RingFile,
    page: RingPage,
    chunks: Vec<(ChunkPage, u32)>,
}

impl KeptCallsMarker {
    /// Looks, if it is time.
    pub fn round(&mut self, path: &Path, run: &RunPath, page: &Page) {
        if self.last.is_some_and(|at| at.elapsed() < PAUSE.max(self.reading * SHARE)) {
            return;
        }
        let start = Instant::now();
        let rings = rings(run);
        let is_due = rings.iter().filter(|ring| {
            let newest = ring.newest();
            let used = ring.chunks.len() as u32 * FILLED.1 >= page.max_chunks() * FILLED.0;
            used && self.newest_read.insert((ring.folder.to_string(), ring.number), newest) != Some(newest)
        });
        if is_due.count() > 0 {
            mark(path, &rings);
            self.reading = start.elapsed();
        }
        self.last = Some(Instant::now());
    }
}

/// The rings of kept calls of all processes.
fn rings(run: &RunPath) -> Vec<KeptRing> {
    let mut rings = Vec::new();
    for name in run.list().unwrap_or_default().into_iter().filter(|name| name.starts_with('p')) {
        let folder = run.join(&name);
        let name: Arc<str> = name.into();
        let numbers = folder.list().unwrap_or_default().into_iter().filter_map(|file| RingFile::number(&file));
        for number in numbers.filter(|number| *number < MOST_RINGS) {
            let file = RingFile::open(&folder, number, true).ok();
            rings.extend(file.and_then(|file| KeptRing::new(&name, number, file)));
        }
    }
    rings
}

/// Marks the calls that are of no use any more.
fn mark(path: &Path, rings: &[KeptRing]) {
    let options = ReaderOptions { all_recorded: true, only_kept: true, ..ReaderOptions::default() };
    let Ok(mut reader) = EventReader::open(path, options) else { return };
    let mut calls = EndedCalls::default();
    let read = reader.poll_while(true, &mut |event| {
        event.visit(&mut calls);
        ControlFlow::Continue(())
    });
    let ended_calls: HashSet<&CallPlace> = calls.ended_calls().collect();
    if read.is_ok() && !ended_calls.is_empty() {
        rings.iter().for_each(|ring| ring.mark(&ended_calls));
    }
}

impl KeptRing {
    /// `None`: it is the ring of a thread, or not in use.
    fn new(folder: &Arc<str>, number: u32, file: RingFile) -> Option<KeptRing> {
        let mut first = vec![0; PAGE];
        file.read_exact_at(&mut first, 0).ok()?;
        let page = RingPage::parse(&first).filter(|page| page.has_copies && !page.is_invalid)?;
        let mut chunks = Vec::new();
        for n in 0..page.chunks {
            let mut head = [0; CHUNK_HEADER];
            file.read_exact_at(&mut head, chunk_offset(n, page.chunk_bytes) as u64).ok()?;
            let head = ChunkPage::parse(&head);
            if head.makes_sense(page.chunk_bytes) && head.sequence != 0 {
                chunks.push((head, n));
            }
        }
        chunks.sort_by_key(|(head, _)| head.sequence);
        Some(KeptRing { folder: folder.clone(), number, file, page, chunks })
    }

    fn newest(&self) -> u64 {
        self.chunks.last().map_or(0, |(head, _)| head.sequence)
    }

    /// Marks the records of these calls, as far as all of their records are in full chunks.
    fn mark(&self, ended_calls: &HashSet<&CallPlace>) {
        let mut records: HashMap<u32, Vec<(u64, u64, u64)>> = HashMap::new();
        let mut whole = HashSet::new();
        for (head, n) in self.chunks.iter().filter(|(head, _)| head.state == FULL) {
            let at = chunk_offset(*n, self.page.chunk_bytes) as u64;
            let mut bytes = vec![0; head.reserved as usize];
            if self.file.read_exact_at(&mut bytes, at).is_err() {
                return;
            }
            let words: Vec<u64> =
                bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
            let (mut offset, mut calls, mut tid) = (CHUNK_HEADER / 8, head.first_call, head.tid);
            while let Some(&first) = words.get(offset) {
                let length = (first >> 5 & 0xff) as usize;
                let Some(record) = words.get(offset..offset + length.max(1)).filter(|_| length > 0) else { break };
                let (of, meta) = ((first & 0xf) as u8, (first >> 13) as u32 & META_MAX);
                calls = calls.wrapping_add(u32::from(of == kind::ENTER));
                let place = (head.sequence, at + offset as u64 * 8, first);
                offset += length;
                let number = calls.wrapping_sub(1);
                let about = number.wrapping_sub(meta);
                match of {
                    kind::THREAD => tid = record.get(1).map_or(tid, |tid| *tid as u32),
                    kind::ENTER if meta != META_MAX && first & COMMITTED != 0 => {
                        let caller = record.get(1).copied().unwrap_or(0) & 0xffff_ffff_ffff;
                        let call = CallPlace { folder: self.folder.clone(), tid, number, caller };
                        if ended_calls.contains(&call) {
                            records.insert(number, vec![place]);
                        }
                    }
                    kind::EXIT | kind::EXIT_OUTPUT | kind::UNWOUND | kind::NOTE | kind::STACK | kind::MEMORY => {
                        if let Some(records) = records.get_mut(&about) {
                            records.push(place);
                            whole.extend((of == kind::EXIT || of == kind::EXIT_OUTPUT).then_some(about));
                        }
                    }
                    _ => {}
                }
            }
        }
        let marked = records.iter().filter(|(number, _)| whole.contains(*number)).flat_map(|(_, records)| records);
        let bytes: u64 = marked.map(|(sequence, at, first)| self.mark_record(*sequence, *at, *first)).sum();
        self.add_dead(bytes);
    }

    /// Makes one record one to step over; its bytes, 0 if it is not there any more.
    fn mark_record(&self, sequence: u64, at: u64, first: u64) -> u64 {
        let chunk_bytes = u64::from(self.page.chunk_bytes);
        let chunk = PAGE as u64 + (at - PAGE as u64) / chunk_bytes * chunk_bytes;
        let (mut head, mut word) = ([0; CHUNK_HEADER], [0; 8]);
        let is_read = self.file.read_exact_at(&mut head, chunk).and_then(|()| self.file.read_exact_at(&mut word, at));
        let head = ChunkPage::parse(&head);
        if is_read.is_err() || (head.sequence, head.state) != (sequence, FULL) || u64::from_le_bytes(word) != first {
            return 0;
        }
        let mark = match (first & 0xf) as u8 {
            // It counts as a call.
            kind::ENTER => first | u64::from(META_MAX) << 13,
            _ => first & !0xf | u64::from(kind::SKIP),
        };
        match self.file.write_at(&mark.to_le_bytes(), at) {
            Ok(()) => (first >> 5 & 0xff) * 8,
            Err(_) => 0,
        }
    }

    /// Says how many bytes are marked.
    fn add_dead(&self, bytes: u64) {
        let at = offset_of!(RingHeader, dead_bytes) as u64;
        let mut page = [0; size_of::<RingHeader>()];
        if bytes == 0 || self.file.read_exact_at(&mut page, 0).is_err() {
            return;
        }
        let word = |at: usize| page.get(at..at + 4).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        if word(offset_of!(RingHeader, copies)) == KEPT {
            let dead = u64::from(word(offset_of!(RingHeader, dead_bytes))) + bytes;
            let _ = self.file.write_at(&u32::try_from(dead).unwrap_or(u32::MAX).to_le_bytes(), at);
        }
    }
}
