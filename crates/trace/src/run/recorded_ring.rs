//! A ring of a recording as a ring file: its page, and its chunks in order. Chunks are unpacked when they are read.

use super::chunk_index::ChunkIndex;
use super::parts::Parts;
use super::prefetch::{DamagedBlocks, Prefetch, Unpacker};
use crate::io::bytes::u32_at;
use crate::io::file::Bytes;
use crate::io::read_progress::ReadProgress;
use cutap_file::Block;
use cutap_wire::PAGE;
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, FULL, OPEN, chunk_offset};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Bytes of open chunks that are kept, over all rings; beyond this they are put together again at the next piece.
const MOST_CACHED: usize = 256 << 20;

/// The recording, and the list of its damaged blocks.
type Files = (Arc<File>, DamagedBlocks);

/// A chunk: its number in the ring, its head, and where its records are.
type Chunk = (usize, [u8; CHUNK_HEADER], Block);
/// Heads that are kept: of the chunk that is read, and of those that are unpacked ahead.
const HEADS: usize = 8;

/// A ring's page and its chunks, as if each stood at its place of a ring file.
#[derive(Debug)]
pub struct RecordedRing {
    page: Vec<u8>,
    chunk_bytes: u32,
    heads: Mutex<Heads>,
    records: Mutex<Prefetch>,
    /// Behind the others.
    open: Option<Mutex<OpenChunk>>,
    files: Files,
}

impl RecordedRing {
    /// `page` says how many chunks there are, with the open one.
    pub fn new(
        page: Vec<u8>,
        chunk_bytes: u32,
        heads: Heads,
        open: Option<OpenChunk>,
        unpacker: Unpacker,
        files: Files,
    ) -> RecordedRing {
        let records = Prefetch::new(unpacker).into();
        RecordedRing { page, chunk_bytes, heads: heads.into(), records, open: open.map(Mutex::new), files }
    }
}

/// A chunk of which there are parts, put together at the first read.
#[derive(Debug)]
pub struct OpenChunk {
    parts: Parts,
    records: Option<Vec<u8>>,
    /// Bytes that are kept, of all rings.
    cached_bytes: Arc<AtomicUsize>,
}

impl OpenChunk {
    pub fn new(parts: Parts, cached_bytes: Arc<AtomicUsize>) -> OpenChunk {
        OpenChunk { parts, records: None, cached_bytes }
    }

    /// Copies bytes of the chunk from `offset` on, of at most `most` bytes of records.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64, most: usize, (file, damaged): &Files) -> usize {
        let Some(offset) = offset.checked_sub(CHUNK_HEADER as u64) else {
            return self.parts.head().map_or(0, |head| copy(head, buffer, offset));
        };
        let records = self.records.take().unwrap_or_else(|| {
            let records = self.parts.records(file, damaged, most);
            self.cached_bytes.fetch_add(records.len(), Relaxed);
            records
        });
        let copied = copy(&records, buffer, offset);
        match self.cached_bytes.load(Relaxed) <= MOST_CACHED {
            true => self.records = Some(records),
            false => _ = self.cached_bytes.fetch_sub(records.len(), Relaxed),
        }
        copied
    }
}

/// Heads of chunks, read on demand.
#[derive(Debug)]
pub struct Heads {
    file: Arc<File>,
    chunks: Arc<ChunkIndex>,
    /// Those that were asked for last.
    last: VecDeque<Chunk>,
    /// The first chunk whose records were not asked for yet.
    next: usize,
    progress: Arc<ReadProgress>,
}

impl Heads {
    pub fn new(file: Arc<File>, chunks: Arc<ChunkIndex>, progress: Arc<ReadProgress>) -> Heads {
        Heads { file, chunks, last: VecDeque::new(), next: 0, progress }
    }

    fn get(&mut self, n: usize) -> Option<&Chunk> {
        if let Some(at) = self.last.iter().position(|(of, ..)| *of == n) {
            return self.last.get(at);
        }
        let (block, plain) = cutap_file::block_at(&*self.file, self.chunks.place(n)?).ok()?;
        let mut head: [u8; CHUNK_HEADER] = plain.try_into().ok()?;
        // Nothing will be added to it, whatever its state was.
        let state = offset_of!(ChunkHeader, state);
        if u32_at(&head, state) != OPEN {
            head[state..state + 4].copy_from_slice(&FULL.to_le_bytes());
        }
        self.last.truncate(HEADS - 1);
        self.last.push_front((n, head, block));
        self.last.front()
    }
}

impl Bytes for RecordedRing {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let Some(in_chunks) = at.checked_sub(PAGE as u64) else { return Ok(copy(&self.page, buffer, at)) };
        let (n, offset) = (in_chunks / u64::from(self.chunk_bytes), in_chunks % u64::from(self.chunk_bytes));
        let mut heads = self.heads.lock().map_err(|_| io::ErrorKind::Other)?;
        if n == heads.chunks.len() as u64
            && let Some(open) = &self.open
        {
            let most = (self.chunk_bytes as usize).min(cutap_file::MOST_BYTES).saturating_sub(CHUNK_HEADER);
            let mut open = open.lock().map_err(|_| io::ErrorKind::Other)?;
            return Ok(open.read_at(buffer, offset, most, &self.files));
        }
        let Some((_, head, _)) = usize::try_from(n).ok().and_then(|n| heads.get(n)) else { return Ok(0) };
        let Some(offset) = offset.checked_sub(CHUNK_HEADER as u64) else { return Ok(copy(head, buffer, offset)) };
        let mut records = self.records.lock().map_err(|_| io::ErrorKind::Other)?;
        if n as usize == heads.next {
            heads.next += 1;
            heads.progress.chunk_read();
        }
        let place = |n: usize| heads.get(n).map(|(_, _, block)| *block);
        let copied = copy(records.records(n as usize, place)?, buffer, offset);
        records.trim();
        Ok(copied)
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn length(&self) -> io::Result<u64> {
        let heads = self.heads.lock().map_err(|_| io::ErrorKind::Other)?;
        let all = heads.chunks.len() as u32 + u32::from(self.open.is_some());
        Ok(chunk_offset(all, self.chunk_bytes) as u64)
    }
    fn is_immutable(&self) -> bool {
        true
    }
}

/// Copies what there is at `at`; how much.
pub fn copy(from: &[u8], buffer: &mut [u8], at: u64) -> usize {
    let rest = usize::try_from(at).ok().and_then(|at| from.get(at..)).unwrap_or(&[]);
    let len = rest.len().min(buffer.len());
    buffer[..len].copy_from_slice(&rest[..len]);
    len
}
