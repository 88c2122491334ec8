//! Copies between pageable memory of the program and the GPU. They go through pinned memory in pieces: while a copy
//! engine moves one, the CPU moves the next.

use crate::base::error::{Error, Result};
use crate::context::context_memory::Memory;
use crate::context::shared::Direction;
use crate::context::staging::{PIECE_BYTES, PIECE_COUNT};
use crate::streams::stream::{Stream, line};
use std::sync::PoisonError;

/// A shorter copy is not cut further.
const SHORTEST: usize = 64 << 10;
/// Copies to the program of this size go past the CPU's caches.
const PAST_CACHES: usize = 1 << 20;

/// Bytes of a piece: several of a copy, so that CPU and copy engine work at the same time.
fn piece_of(length: usize) -> usize {
    (length / PIECE_COUNT).next_multiple_of(SHORTEST).clamp(SHORTEST, PIECE_BYTES)
}

impl Stream {
    /// Copies bytes of the program into memory. Returns when `from` is free again; the copy may still run.
    ///
    /// # Errors
    /// The range is outside of `to`, or the context has ended.
    ///
    /// # Safety
    /// No other work conflicts with the range of `to`.
    pub unsafe fn upload(&self, to: &Memory, offset: u64, from: &[u8]) -> Result<()> {
        let mut address = to.check(offset, from.len() as u64)?;
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        for (n, bytes) in from.chunks(piece_of(from.len())).enumerate() {
            let (memory, at) = staging.piece(n, &self.shared)?;
            // SAFETY: no copy uses the piece; the rest is the caller's promise.
            let fence = unsafe {
                memory.write(at, bytes)?;
                self.copy_rectangle(&line(address, memory.address() + at, bytes.len()), Direction::ToGpu)?
            };
            staging.used(n, fence);
            address += bytes.len() as u64;
        }
        Ok(())
    }

    /// Copies memory into bytes of the program, after the work of this stream, and waits for it.
    ///
    /// # Errors
    /// The range is outside of `from`, or the context has ended.
    ///
    /// # Safety
    /// No other work writes the range of `from`.
    pub unsafe fn download(&self, from: &Memory, offset: u64, to: &mut [u8]) -> Result<()> {
        let address = from.check(offset, to.len() as u64)?;
        let (total, piece) = (to.len(), piece_of(to.len()));
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let mut submitted = 0;
        for (n, bytes) in to.chunks_mut(piece).enumerate() {
            // All pieces are under way while the CPU moves one.
            while submitted < n + PIECE_COUNT && submitted * piece < total {
                let start = submitted * piece;
                let length = piece.min(total - start);
                let (memory, at) = staging.piece(submitted, &self.shared)?;
                let copy = line(memory.address() + at, address + start as u64, length);
                // SAFETY: the bytes of this piece were taken before; the rest is the caller's promise.
                let fence = unsafe { self.copy_rectangle(&copy, Direction::FromGpu)? };
                staging.used(submitted, fence);
                submitted += 1;
            }
            let (memory, at) = staging.piece(n, &self.shared)?;
            if total < PAST_CACHES {
                // SAFETY: the copy into this piece has ended.
                unsafe { memory.read(at, bytes)? };
            } else {
                let from = memory.host().ok_or(Error::Unsupported("pinned memory without an address"))?;
                // SAFETY: as above, and the piece is inside of the memory.
                unsafe { past_caches(bytes, from.as_ptr().add(at as usize)) };
            }
        }
        Ok(())
    }
}

/// Fills `to` from `from`, with stores that go past the caches: it is too large to stay there, and ordinary stores
/// would read it first.
///
/// # Safety
/// `from` has as many bytes, and no other work writes them.
unsafe fn past_caches(to: &mut [u8], from: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
        const LINE: usize = 64;
        let head = to.as_ptr().align_offset(LINE).min(to.len());
        let lines = (to.len() - head) / LINE;
        let tail = head + lines * LINE;
        let start = to.as_mut_ptr();
        // SAFETY: all offsets are below the length of both; the lines of `to` are aligned.
        unsafe {
            start.copy_from_nonoverlapping(from, head);
            for line in 0..lines {
                let (into, from) = (start.add(head + line * LINE), from.add(head + line * LINE));
                let (into, from) = (into.cast::<__m128i>(), from.cast::<__m128i>());
                let words: [__m128i; 4] = std::array::from_fn(|n| _mm_loadu_si128(from.add(n)));
                words.into_iter().enumerate().for_each(|(n, word)| _mm_stream_si128(into.add(n), word));
            }
            start.add(tail).copy_from_nonoverlapping(from.add(tail), to.len() - tail);
            _mm_sfence();
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        to.as_mut_ptr().copy_from_nonoverlapping(from, to.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_past_the_caches() {
        let from: Vec<u8> = (0..1000_u32).map(|n| (n * 7) as u8).collect();
        for (skip, length) in [(0, 1000), (1, 999), (63, 64), (5, 40), (64, 128), (3, 0)] {
            let mut to = vec![0xff; 1100];
            // SAFETY: both have these bytes.
            unsafe { past_caches(&mut to[skip..skip + length], from.as_ptr()) };
            assert_eq!((&to[skip..skip + length], to[skip + length]), (&from[..length], 0xff), "{skip} {length}");
        }
    }

    #[test]
    fn several_pieces_of_a_copy() {
        assert_eq!([1, 64 << 10, 1 << 20, 64 << 20].map(piece_of), [64 << 10, 64 << 10, 256 << 10, 512 << 10]);
    }
}
