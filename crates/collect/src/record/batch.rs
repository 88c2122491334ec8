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
    slots: Vec<PackedChunk>,
}

/// A chunk, and its block as it will stand in the file.
#[derive(Debug, Default)]
pub struct PackedChunk {
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
        Batch { slots: (0..width).map(|_| PackedChunk::default()).collect() }
    }

    /// Memory for one chunk.
    pub fn single(&mut self) -> &mut RawChunk {
        &mut self.slots[0].chunk
    }

    /// Reads the next chunks of a ring and packs them: those are handed back, in their order. `block` is the head of a
    /// chunk's block by its number. Empty when there is none, or the next is not finished.
    pub fn next(
        &mut self,
        ring: &mut Ring,
        ready: &mut impl Iterator<Item = (u64, u32)>,
        last: bool,
        block: &(impl Fn(u64) -> Block + Sync),
    ) -> io::Result<&[PackedChunk]> {
        let mut read = 0;
        while let Some(slot) = self.slots.get_mut(read)
            && let Some(place) = ready.next()
        {
            match ring.raw.read(place, last, &mut slot.chunk) {
                true => read += 1,
                // Written over meanwhile; those behind it are newer.
                false if last => {}
                false => break,
            }
        }
        let batch = self.slots.get_mut(..read).unwrap_or_default();
        let pack = |slot: &mut PackedChunk| {
            let RawChunk { head, records, .. } = &slot.chunk;
            pack(Packing::Lz4, block(slot.chunk.sequence()), head, records, &mut slot.packed)
        };
        thread::scope(|scope| {
            let Some((first, rest)) = batch.split_first_mut() else { return Ok(()) };
            let threads: Vec<_> = rest.iter_mut().map(|slot| scope.spawn(|| pack(slot))).collect();
            let mut result = pack(first);
            for thread in threads {
                result = result.and(thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())));
            }
            result
        })?;
        Ok(batch)
    }
}
