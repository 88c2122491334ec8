//! Unpacks the chunks of a recording on a thread of its own, a few ahead of the reader, so that unpacking and reading
//! share two processors. Chunks are read in order; any other order works, and is slower.

use cutap_file::Block;
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Chunks of a ring that are unpacked ahead.
const AHEAD: usize = 4;
/// Bytes that are unpacked ahead, over all rings: those of a large flight recorder have large chunks.
const MOST_AHEAD: usize = 64 << 20;
/// Bytes of the chunks that are being read, over all rings; beyond this they are unpacked again at the next piece.
const MOST_IN_USE: usize = 1 << 30;

/// Where the blocks stand that cannot be read.
pub type DamagedBlocks = Arc<Mutex<BTreeSet<u64>>>;

/// What is to be unpacked, and who waits for it.
struct Job {
    which: usize,
    block: Block,
    /// Memory to be used again.
    buffer: Vec<u8>,
    reply: Sender<Reply>,
}

type Reply = (usize, io::Result<Vec<u8>>);

/// The thread; it has ended when nobody has it any more.
#[derive(Debug)]
struct Worker {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Who unpacks, and how much there is.
#[derive(Debug, Clone)]
pub struct Unpacker {
    worker: Arc<Worker>,
    /// Bytes that were asked for and not taken yet, and bytes that are being read.
    ahead: Arc<AtomicUsize>,
    bytes_in_use: Arc<AtomicUsize>,
}

impl Unpacker {
    pub fn start(file: Arc<File>, damaged: DamagedBlocks) -> Unpacker {
        let (jobs, waiting) = channel::<Job>();
        let thread = thread::spawn(move || {
            for Job { which, block, mut buffer, reply } in waiting {
                let unpacked = cutap_file::body(&*file, &block, &mut buffer).map(|()| buffer);
                if unpacked.is_err() {
                    mark_damaged(&damaged, &block);
                }
                // A reader that is gone needs it no more.
                let _ = reply.send((which, unpacked));
            }
        });
        let worker = Arc::new(Worker { jobs: Some(jobs), thread: Some(thread) });
        Unpacker { worker, ahead: Arc::default(), bytes_in_use: Arc::default() }
    }
}

/// A block that cannot be read is counted once, however often it is tried.
pub fn mark_damaged(damaged: &DamagedBlocks, block: &Block) {
    if let Ok(mut all) = damaged.lock() {
        all.insert(block.start());
    }
}

/// The chunks of one ring as they are read.
#[derive(Debug)]
pub struct Prefetch {
    unpacker: Unpacker,
    reply: Sender<Reply>,
    replies: Receiver<Reply>,
    /// What was asked for and not taken yet, in order, and how long it will be.
    requested: VecDeque<(usize, usize)>,
    current: Option<(usize, Vec<u8>)>,
}

impl Prefetch {
    pub fn new(unpacker: Unpacker) -> Prefetch {
        let (reply, replies) = channel();
        Prefetch { unpacker, reply, replies, requested: VecDeque::new(), current: None }
    }

    /// The records of chunk `which`; `block` tells where each chunk is.
    pub fn records(&mut self, which: usize, mut block: impl FnMut(usize) -> Option<Block>) -> io::Result<&[u8]> {
        if self.current.as_ref().is_none_or(|(n, _)| *n != which) {
            let buffer = self.put_back();
            if self.requested.front().is_none_or(|(first, _)| *first != which) {
                // Another order than was thought: what was asked for is of no use.
                while !self.requested.is_empty() {
                    let _ = self.take();
                }
                self.request(which, &mut block, Vec::new());
            }
            let mut next = self.requested.back().map_or(which, |(last, _)| last + 1);
            let mut buffer = Some(buffer);
            while self.requested.len() <= AHEAD
                && self.unpacker.ahead.load(Relaxed) < MOST_AHEAD
                && self.request(next, &mut block, buffer.take().unwrap_or_default())
            {
                next += 1;
            }
            let (n, records) = self.take()?;
            let records = records?;
            self.unpacker.bytes_in_use.fetch_add(records.len(), Relaxed);
            self.current = Some((n, records));
        }
        self.current.as_ref().map(|(_, records)| records.as_slice()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Gives up what is being read if all rings together have too much.
    pub fn trim(&mut self) {
        if self.unpacker.bytes_in_use.load(Relaxed) > MOST_IN_USE {
            self.put_back();
        }
    }

    /// What was being read is read no more; its memory.
    fn put_back(&mut self) -> Vec<u8> {
        let Some((_, buffer)) = self.current.take() else { return Vec::new() };
        self.unpacker.bytes_in_use.fetch_sub(buffer.len(), Relaxed);
        buffer
    }

    fn request(&mut self, which: usize, block: &mut impl FnMut(usize) -> Option<Block>, buffer: Vec<u8>) -> bool {
        let Some(block) = block(which) else { return false };
        let job = Job { which, block, buffer, reply: self.reply.clone() };
        let sent = self.unpacker.worker.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent {
            self.requested.push_back((which, block.raw as usize));
            self.unpacker.ahead.fetch_add(block.raw as usize, Relaxed);
        }
        sent
    }

    fn take(&mut self) -> io::Result<Reply> {
        let Some((_, bytes)) = self.requested.pop_front() else { return Err(io::ErrorKind::NotFound.into()) };
        self.unpacker.ahead.fetch_sub(bytes, Relaxed);
        self.replies.recv().map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.put_back();
        let requested_bytes = self.requested.iter().map(|(_, bytes)| bytes).sum();
        self.unpacker.ahead.fetch_sub(requested_bytes, Relaxed);
    }
}
