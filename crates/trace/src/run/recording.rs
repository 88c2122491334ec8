//! A recording as the files of a run: its pages, its names put together, its chunks in order as in a ring. Blocks are
//! unpacked when they are read. Only the place of each chunk is kept in memory, so a long recording needs no more than
//! a short one.

use super::chunk_index::ChunkIndex;
use super::error::Error;
use super::parts::Parts;
use super::prefetch::{DamagedBlocks, Unpacker, mark_damaged};
use super::recorded_ring::{Heads, OpenChunk, RecordedRing, copy};
use crate::io::bytes::u32_at;
use crate::io::file::{Bytes, open_file};
use crate::io::read_progress::ReadProgress;
use crate::io::store::Store;
use crate::ring::file::RingFile;
use cutap_file::{Block, Cut, Why, kind, walk};
use cutap_wire::ring::{CHUNK_HEADER, RingHeader};
use cutap_wire::{PAGE, VERSION, counts, gpu_clocks, names, process};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

/// Bytes of a text that are worth a place in a sentence.
const MOST_TEXT: usize = 4096;
/// Names of one process together are never longer than their file may be.
const MOST_NAMES: usize = names::MAX_BYTES;

/// A recording.
#[derive(Debug)]
pub struct Recording {
    file: Arc<File>,
    /// Started when a ring is opened.
    unpacker: OnceLock<Unpacker>,
    control: Option<Block>,
    filter: Option<Block>,
    rank: Option<Block>,
    /// Pieces of the file of clocks.
    clocks: Vec<Block>,
    host: Option<Block>,
    hang: Option<Block>,
    processes: BTreeMap<u32, ProcessBlocks>,
    /// How far it could be read, and why not further.
    pub cut: Cut,
    /// It was cut off here and added to later, and lacks so many chunks.
    pub completed: Option<(u64, u64)>,
    /// Chunks that were damaged before they could be recorded.
    pub lacks: u64,
    /// Chunks that a collector had read before it was begun.
    pub read_before: u64,
    /// Files that could not be read when it was made.
    pub unread: Option<String>,
    /// Bytes of chunks that were put together from parts and are kept.
    open_chunk_bytes: Arc<AtomicUsize>,
    /// Blocks that are damaged: those of names and pages, and the chunks of these that were read so far.
    pub damaged: DamagedBlocks,
    /// Where chunks that are read are counted.
    progress: Arc<ReadProgress>,
}

/// What it holds of a process.
#[derive(Debug, Default)]
struct ProcessBlocks {
    name: Option<Block>,
    folder: String,
    page: Option<Block>,
    names: Vec<Block>,
    rings: BTreeMap<u32, RingBlocks>,
    /// By ring, and by which of its two files of counts.
    counts: BTreeMap<(u32, u64), Block>,
}

#[derive(Debug, Default)]
struct RingBlocks {
    page: Option<Block>,
    /// Shared with whoever reads the ring.
    chunks: Arc<ChunkIndex>,
    /// Of the chunk behind them, which was not full.
    parts: Parts,
}

impl Recording {
    pub fn open(path: &Path, progress: &Arc<ReadProgress>) -> Result<Recording, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let file = open_file(path, false).map_err(unreadable)?;
        let (mut control, mut completed, mut lacks, mut read_before) = (None, None::<(u64, u64)>, 0, 0);
        let (mut unread, mut filter, mut rank, mut host, mut hang) = (None, None, None, None, None);
        let mut clocks = Vec::new();
        let mut processes = BTreeMap::<u32, ProcessBlocks>::new();
        let (mut body, damaged) = (Vec::new(), DamagedBlocks::default());
        // The last one counts. Of one before it that is damaged nothing is missing, and it is said all the same.
        let mut newer = |place: &mut Option<Block>, block: &Block| {
            if let Some(older) = place.replace(*block)
                && cutap_file::body(&file, &older, &mut body).is_err()
            {
                mark_damaged(&damaged, &older);
            }
        };
        let walked = walk(&file, VERSION, &mut |block, plain| {
            if block.kind == kind::CONTROL {
                newer(&mut control, block);
                return;
            }
            match (block.kind, block.at) {
                (kind::FILTER, _) => filter = Some(*block),
                (kind::RANK, _) => rank = Some(*block),
                (kind::CLOCKS, _) => clocks.push(*block),
                (kind::HOST, _) => host = Some(*block),
                (kind::HANG, _) => hang = Some(*block),
                (kind::LACKS, 0) => lacks = block.ring.into(),
                (kind::LACKS, kind::READ_BEFORE) => read_before = block.ring.into(),
                (kind::LACKS, kind::UNREAD) => unread = Some(*block),
                (kind::LACKS, at) => {
                    let (at, missing) = completed.unwrap_or((at, 0));
                    completed = Some((at, missing + u64::from(block.ring)));
                }
                _ => {}
            }
            if !(kind::PROCESS..=kind::CHUNK).contains(&block.kind) && ![kind::PART, kind::COUNTS].contains(&block.kind)
            {
                return;
            }
            let of = processes.entry(block.process).or_default();
            match block.kind {
                kind::PROCESS => newer(&mut of.name, block),
                kind::PAGE => newer(&mut of.page, block),
                kind::NAMES => of.names.push(*block),
                kind::RING => newer(&mut of.rings.entry(block.ring).or_default().page, block),
                kind::COUNTS => {
                    of.counts.insert((block.ring, block.at), *block);
                }
                kind::PART => of.rings.entry(block.ring).or_default().parts.add(block, plain),
                _ => {
                    if plain.len() == CHUNK_HEADER {
                        let ring = of.rings.entry(block.ring).or_default();
                        Arc::get_mut(&mut ring.chunks).into_iter().for_each(|all| all.add(block.at, block.start()));
                        ring.parts.supersede(block.at);
                    }
                }
            }
        });
        let rings = processes.values_mut().flat_map(|of| of.rings.values_mut());
        rings.filter_map(|ring| Arc::get_mut(&mut ring.chunks)).for_each(ChunkIndex::settle);
        let cut = walked.map_err(|error| match error {
            cutap_file::Error::NotOurs => Error::NotARecording { path: path.to_owned() },
            cutap_file::Error::OtherVersion(found) => Error::OtherVersion { path: path.to_owned(), version: found },
            cutap_file::Error::Unreadable(source) => unreadable(source),
        })?;
        let mut recorded = Recording {
            file: file.into(),
            unpacker: OnceLock::new(),
            control,
            filter,
            rank,
            clocks,
            host,
            hang,
            processes,
            cut,
            completed,
            lacks,
            read_before,
            unread: None,
            open_chunk_bytes: Arc::default(),
            damaged,
            progress: progress.clone(),
        };
        let rings = recorded.processes.values().flat_map(|of| of.rings.values());
        progress.add_recording(rings.map(|ring| ring.chunks.len() as u64).sum());
        recorded.unread = unread.and_then(|block| recorded.text(&block));
        let names: Vec<_> = recorded.processes.iter().map(|(n, of)| (*n, of.name)).collect();
        for (n, name) in names {
            let name = name.and_then(|block| recorded.body(&block).ok()).unwrap_or_default();
            if let Some(of) = recorded.processes.get_mut(&n) {
                of.folder = String::from_utf8_lossy(&name).into_owned();
            }
        }
        let processes = recorded.processes.values();
        let blocks = processes.flat_map(|of| {
            let pages = of.rings.values().filter_map(|ring| ring.page);
            let counts = of.counts.values().copied();
            of.name.into_iter().chain(of.page).chain(of.names.iter().copied()).chain(pages).chain(counts)
        });
        let all = blocks.chain(recorded.control).chain(unread).chain(filter).chain(rank).chain(host).chain(hang);
        let all = all.chain(recorded.clocks.iter().copied());
        all.filter(|block| recorded.body(block).is_err()).for_each(|block| mark_damaged(&recorded.damaged, &block));
        Ok(recorded)
    }

    fn body(&self, block: &Block) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        cutap_file::body(&*self.file, block, &mut out)?;
        Ok(out)
    }

    /// The beginning of a text, for a sentence.
    fn text(&self, block: &Block) -> Option<String> {
        let text = self.body(block).ok()?;
        Some(String::from_utf8_lossy(&text[..text.len().min(MOST_TEXT)]).into_owned())
    }

    /// A page, filled up with the zeros that were left out.
    fn page(&self, block: Option<&Block>) -> io::Result<Vec<u8>> {
        let block = block.ok_or(io::ErrorKind::NotFound)?;
        if block.raw as usize > PAGE {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut page = self.body(block)?;
        page.resize(PAGE, 0);
        Ok(page)
    }

    /// The names; what is damaged or was cut off is a hole.
    fn names(&self, of: &ProcessBlocks) -> SparseBytes {
        let (mut all, mut bytes) = (SparseBytes::default(), 0);
        for block in &of.names {
            let end = block.at.saturating_add(block.raw.into());
            if end > MOST_NAMES as u64 || bytes + block.raw as usize > MOST_NAMES {
                continue;
            }
            let Ok(body) = self.body(block) else { continue };
            bytes += body.len();
            all.add(block.at, body);
        }
        all
    }
}

impl Store for Recording {
    fn control(&self) -> io::Result<Vec<u8>> {
        self.page(self.control.as_ref())
    }

    fn run_text(&self, name: &str) -> Option<String> {
        let block = match name {
            cutap_wire::control::FILTER => self.filter.as_ref(),
            cutap_wire::control::RANK => self.rank.as_ref(),
            cutap_wire::control::HOST => self.host.as_ref(),
            cutap_wire::control::HANG => self.hang.as_ref(),
            _ => None,
        };
        let text = self.body(block?).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn gpu_clocks(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for block in &self.clocks {
            let Ok(body) = self.body(block) else { continue };
            // What a damaged piece held is zeros, which are no record: it ends there.
            let (from, end) = (block.at, block.at.saturating_add(body.len() as u64));
            if end <= gpu_clocks::MAX_BYTES {
                bytes.resize(bytes.len().max(end as usize), 0);
                bytes[from as usize..end as usize].copy_from_slice(&body);
            }
        }
        bytes
    }

    fn processes(&self) -> io::Result<Vec<String>> {
        Ok(self.processes.values().map(|of| of.folder.clone()).collect())
    }

    fn open(&self, process: &str, file: &str, _write: bool) -> io::Result<Box<dyn Bytes>> {
        let of = self.processes.values().find(|of| of.folder == process).ok_or(io::ErrorKind::NotFound)?;
        if file == process::FILE {
            let mut page = self.page(of.page.as_ref())?;
            // A recording that was cut off may know of more rings than its last page.
            let rings = of.rings.last_key_value().map_or(0, |(ring, _)| ring.saturating_add(1));
            let at = offset_of!(process::Process, rings);
            let stated = u32_at(&page, at);
            page[at..at + 4].copy_from_slice(&stated.max(rings).to_le_bytes());
            return Ok(Box::new(Memory(page)));
        }
        if file == names::FILE {
            return Ok(Box::new(self.names(of)));
        }
        if let Some(key) = counts_file(file) {
            let mut bytes = self.body(of.counts.get(&key).ok_or(io::ErrorKind::NotFound)?)?;
            // Zeros at its end were left out.
            bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
            return Ok(Box::new(Memory(bytes)));
        }
        let ring = RingFile::number(file).and_then(|n| of.rings.get(&n)).ok_or(io::ErrorKind::NotFound)?;
        let mut page = self.page(ring.page.as_ref())?;
        let chunks = ring.chunks.clone();
        let count = offset_of!(RingHeader, chunks);
        let open = ring.parts.head().map(|_| OpenChunk::new(ring.parts.clone(), self.open_chunk_bytes.clone()));
        let all = chunks.len() as u32 + u32::from(open.is_some());
        page[count..count + 4].copy_from_slice(&all.to_le_bytes());
        let chunk_bytes = u32_at(&page, offset_of!(RingHeader, chunk_bytes)).max(PAGE as u32);
        let unpacker = self.unpacker.get_or_init(|| Unpacker::start(self.file.clone(), self.damaged.clone())).clone();
        let files = (self.file.clone(), self.damaged.clone());
        let heads = Heads::new(self.file.clone(), chunks, self.progress.clone());
        Ok(Box::new(RecordedRing::new(page, chunk_bytes, heads, open, unpacker, files)))
    }

    fn may_lack_names(&self) -> bool {
        // The text is for people, and names few files: what it does not name may be among the others.
        let unread = self.unread.as_ref().is_some_and(|files| files.contains("/names (") || files.contains(" more"));
        let blocks = || self.processes.values().flat_map(|of| &of.names);
        let damaged = || blocks().any(|block| self.damaged.lock().is_ok_and(|all| all.contains(&block.start())));
        unread || !matches!(self.cut.why, Why::Ended | Why::Open) || damaged()
    }
}

/// The ring of a file of counts, and which of the two it is.
fn counts_file(file: &str) -> Option<(u32, u64)> {
    let (ring, name) = file.strip_prefix('t')?.split_once('.')?;
    let n = counts::FILES.iter().position(|of| *of == name)?;
    Some((ring.parse().ok()?, n as u64))
}

/// Bytes that are all there.
#[derive(Debug)]
struct Memory(Vec<u8>);

impl Bytes for Memory {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        Ok(copy(&self.0, buffer, at))
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn is_immutable(&self) -> bool {
        true
    }
}

/// Bytes of which some are there, as pieces; later ones lie over earlier ones, and what is between them is 0. Takes no
/// more memory than the pieces.
#[derive(Debug, Default)]
struct SparseBytes {
    pieces: Vec<(u64, Vec<u8>)>,
    length: u64,
}

impl SparseBytes {
    fn add(&mut self, at: u64, bytes: Vec<u8>) {
        self.length = self.length.max(at + bytes.len() as u64);
        self.pieces.push((at, bytes));
    }
}

impl Bytes for SparseBytes {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let there = (buffer.len() as u64).min(self.length.saturating_sub(at));
        let buffer = &mut buffer[..there as usize];
        buffer.fill(0);
        for (from, bytes) in &self.pieces {
            let (start, end) = ((*from).max(at), (from + bytes.len() as u64).min(at + there));
            if start < end {
                let piece = &bytes[(start - from) as usize..(end - from) as usize];
                buffer[(start - at) as usize..(end - at) as usize].copy_from_slice(piece);
            }
        }
        Ok(buffer.len())
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }
    fn is_immutable(&self) -> bool {
        true
    }
}
