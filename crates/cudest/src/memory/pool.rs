//! Small pieces of video memory, cut from larger allocations: a separate one costs three ioctls. First fit by address.

use crate::base::error::Result;
use crate::memory::allocation::{Allocation, MemoryKind, Request};
use crate::memory::physical::Joined;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// CUDA promises 256 bytes; pieces are multiples of 512.
const ALIGN: u64 = 512;
/// The first chunk, and the largest.
const FIRST: u64 = 2 << 20;
const LARGEST: u64 = 64 << 20;
/// From here on an allocation is separate.
const SEPARATE: u64 = 16 << 20;

/// What frees memory when dropped.
#[derive(Debug)]
pub(crate) enum Owner {
    Whole(#[allow(dead_code)] Allocation),
    Piece(#[allow(dead_code)] Piece),
    Mapping(#[allow(dead_code)] Joined),
}

/// A piece of a chunk.
#[derive(Debug)]
pub(crate) struct Piece {
    chunk: Arc<Chunk>,
    offset: u64,
    size: u64,
}

#[derive(Debug)]
struct Chunk {
    memory: Allocation,
    free: Mutex<Free>,
}

/// Free ranges: offset and size. Neighbours are joined.
#[derive(Debug, Default, PartialEq, Eq)]
struct Free(BTreeMap<u64, u64>);

impl Free {
    fn take(&mut self, size: u64) -> Option<u64> {
        let (offset, room) = self.0.iter().find(|(_, room)| **room >= size).map(|(offset, room)| (*offset, *room))?;
        self.0.remove(&offset);
        if room > size {
            self.0.insert(offset + size, room - size);
        }
        Some(offset)
    }

    fn give(&mut self, mut offset: u64, mut size: u64) {
        if let Some((before, room)) = self.0.range(..offset).next_back().map(|(o, r)| (*o, *r))
            && before + room == offset
        {
            self.0.remove(&before);
            (offset, size) = (before, size + room);
        }
        if let Some(room) = self.0.remove(&(offset + size)) {
            size += room;
        }
        self.0.insert(offset, size);
    }
}

impl Piece {
    pub fn address(&self) -> u64 {
        self.chunk.memory.address + self.offset
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        lock(&self.chunk.free).give(self.offset, self.size);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The chunks of a context.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    chunks: Mutex<Vec<Arc<Chunk>>>,
}

impl Pool {
    /// Video memory: the owner and its address. `allocate` makes a separate allocation.
    pub fn take(&self, size: u64, allocate: impl Fn(Request) -> Result<Allocation>) -> Result<(Owner, u64)> {
        let request = |size| Request { place: MemoryKind::Video, size, visible: false, unified: true };
        if size >= SEPARATE {
            let memory = allocate(request(size))?;
            let address = memory.address;
            return Ok((Owner::Whole(memory), address));
        }
        let size = size.max(1).next_multiple_of(ALIGN);
        let mut chunks = lock(&self.chunks);
        for chunk in chunks.iter() {
            if let Some(offset) = lock(&chunk.free).take(size) {
                return Ok(piece(chunk, offset, size));
            }
        }
        // Chunks that are wholly free go back before another is made.
        chunks.retain(|chunk| Arc::strong_count(chunk) > 1);
        let total: u64 = chunks.iter().map(|chunk| chunk.memory.size).sum();
        let memory = allocate(request(total.clamp(FIRST, LARGEST).max(size)))?;
        let mut free = Free(BTreeMap::from([(0, memory.size)]));
        let offset = free.take(size).unwrap_or_default();
        let chunk = Arc::new(Chunk { memory, free: Mutex::new(free) });
        let allocated = piece(&chunk, offset, size);
        chunks.push(chunk);
        Ok(allocated)
    }
}

fn piece(chunk: &Arc<Chunk>, offset: u64, size: u64) -> (Owner, u64) {
    let piece = Piece { chunk: Arc::clone(chunk), offset, size };
    let address = piece.address();
    (Owner::Piece(piece), address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_again() {
        let mut free = Free(BTreeMap::from([(0, 4096)]));
        let taken = [free.take(512), free.take(1024), free.take(512)];
        assert_eq!(taken, [Some(0), Some(512), Some(1536)]);
        assert_eq!(free.take(4096), None);
        free.give(0, 512);
        free.give(1536, 512);
        free.give(512, 1024);
        assert_eq!(free.0, BTreeMap::from([(0, 4096)]));
    }
}
