//! Packs chunks for the recording: a few are read, packed by several threads, and appended in order. Packing takes most
//! of the time, and a thread at full speed fills chunks faster than one core packs them.
//!
//! One or two cores are left to the program; with two cores no thread is started.

use super::ring::Ring;
use cutap_file::{Block, Packing, pack};
use cutap_trace::RawChunk;
use std::io;
use std::thread;

/// Threads that pack at most.
const MOST: usize = 4;

/// Chunks in the middle of it.
#[derive(Debug)]
pub struct Batch {
    taken: Vec<Taken>,
}

/// A chunk, and its block as it will stand in the file.
#[derive(Debug, Default)]
pub struct Taken {
    /// As it was read.
    pub chunk: RawChunk,
    /// The block's bytes.
    pub packed: Vec<u8>,
}

impl Batch {
    /// As wide as this machine allows.
    pub fn new() -> Batch {
        let cores = thread::available_parallelism().map_or(1, |n| n.get());
        Batch::of(cores.saturating_sub(2).clamp(1, MOST))
    }

    fn of(width: usize) -> Batch {
        Batch { taken: (0..width).map(|_| Taken::default()).collect() }
    }

    /// Memory for one chunk.
    pub fn single(&mut self) -> &mut RawChunk {
        &mut self.taken[0].chunk
    }

    /// Reads the next chunks of a ring and packs them: those are handed back, in their order. `block` is the head of a
    /// chunk's block by its number. Empty when there is none, or the next is not finished.
    pub fn next(
        &mut self,
        ring: &mut Ring,
        ready: &mut impl Iterator<Item = (u64, u32)>,
        last: bool,
        block: &(impl Fn(u64) -> Block + Sync),
    ) -> io::Result<&[Taken]> {
        let mut read = 0;
        while let Some(taken) = self.taken.get_mut(read)
            && let Some(place) = ready.next()
        {
            match ring.raw.read(place, last, &mut taken.chunk) {
                true => read += 1,
                // Written over meanwhile; those behind it are newer.
                false if last => {}
                false => break,
            }
        }
        let batch = self.taken.get_mut(..read).unwrap_or_default();
        let pack = |taken: &mut Taken| {
            let RawChunk { head, records, .. } = &taken.chunk;
            pack(Packing::Lz4, block(taken.chunk.sequence()), head, records, &mut taken.packed)
        };
        thread::scope(|scope| {
            let Some((first, others)) = batch.split_first_mut() else { return Ok(()) };
            let others: Vec<_> = others.iter_mut().map(|taken| scope.spawn(|| pack(taken))).collect();
            let mut done = pack(first);
            for other in others {
                done = done.and(other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())));
            }
            done
        })?;
        Ok(batch)
    }
}
