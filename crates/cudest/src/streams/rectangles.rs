//! Copies of lines and layers between pageable memory of the program and the GPU, through a stream's pinned pieces.

use crate::base::error::{Error, Result};
use crate::context::shared::Direction;
use crate::context::staging::PIECE_BYTES;
use crate::streams::stream::{Rectangle, Stream};
use std::ops::Range;
use std::sync::PoisonError;

/// Lines of one piece: the first byte's column, line and layer, the bytes of a line, and how many lines.
#[derive(Debug, Clone, Copy)]
struct Block {
    x: u64,
    y: u64,
    z: u64,
    length: u64,
    count: u64,
}

/// The blocks of a copy, each of at most a piece.
fn blocks(copy: &Rectangle) -> impl Iterator<Item = Block> + use<> {
    let Rectangle { width, height, depth, .. } = *copy;
    let length = width.clamp(1, PIECE_BYTES as u64);
    let lines = (PIECE_BYTES as u64 / length).max(1);
    let of = |all: u64, step: u64| (0..all.div_ceil(step)).map(move |n| n * step);
    let layers = (0..if width == 0 { 0 } else { depth }).flat_map(move |z| of(height, lines).map(move |y| (z, y)));
    layers.flat_map(move |(z, y)| {
        of(width, length).map(move |x| {
            let (length, count) = (length.min(width - x), lines.min(height - y));
            Block { x, y, z, length, count }
        })
    })
}

/// Where a line of a block begins, in a memory whose first byte is at `start`.
fn place(start: u64, (pitch, layer): (u64, u64), block: &Block, line: u64) -> Option<u64> {
    let lines = block.y.checked_add(line)?.checked_mul(pitch)?;
    start.checked_add(block.z.checked_mul(layer)?)?.checked_add(lines)?.checked_add(block.x)
}

fn outside() -> Error {
    Error::Range("lines of the copy are outside of the program's memory".to_owned())
}

/// The bytes of the program that a line has.
fn range(start: u64, pitches: (u64, u64), block: &Block, line: u64) -> Result<Range<usize>> {
    let first = place(start, pitches, block, line).and_then(|first| usize::try_from(first).ok());
    first.and_then(|first| Some(first..first.checked_add(block.length as usize)?)).ok_or_else(outside)
}

impl Stream {
    /// Copies lines and layers of the program's bytes into memory. `copy.to` is an address of the GPU, `copy.from` an
    /// offset in `from`. Returns when `from` is free again; the copy may still run.
    ///
    /// # Errors
    /// A line is outside of `from`, a number is too large, or the context has ended.
    ///
    /// # Safety
    /// The lines at `copy.to` are mapped, and no other work conflicts with them.
    pub unsafe fn upload_3d(&self, copy: &Rectangle, from: &[u8]) -> Result<()> {
        let (theirs, own) = ((copy.pitch.0, copy.layer.0), (copy.pitch.1, copy.layer.1));
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        for (n, block) in blocks(copy).enumerate() {
            let (memory, at) = staging.piece(n, &self.shared)?;
            for line in 0..block.count {
                let bytes = from.get(range(copy.from, own, &block, line)?).ok_or_else(outside)?;
                // SAFETY: no copy uses the piece.
                unsafe { memory.write(at + line * block.length, bytes)? };
            }
            let to = place(copy.to, theirs, &block, 0).ok_or_else(outside)?;
            let moved = block.between(to, memory.address() + at, (copy.pitch.0, block.length));
            // SAFETY: the piece is unused; the rest is the caller's promise.
            let fence = unsafe { self.copy_rectangle(&moved, Direction::ToGpu)? };
            staging.used(n, fence);
        }
        Ok(())
    }

    /// Copies lines and layers of memory into the program's bytes, and waits for it. `copy.from` is an address of the
    /// GPU, `copy.to` an offset in `to`. Bytes between lines stay.
    ///
    /// # Errors
    /// A line is outside of `to`, a number is too large, or the context has ended.
    ///
    /// # Safety
    /// The lines at `copy.from` are mapped, and no other work writes them.
    pub unsafe fn download_3d(&self, copy: &Rectangle, to: &mut [u8]) -> Result<()> {
        let (own, theirs) = ((copy.pitch.0, copy.layer.0), (copy.pitch.1, copy.layer.1));
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        for (n, block) in blocks(copy).enumerate() {
            let (memory, at) = staging.piece(n, &self.shared)?;
            let from = place(copy.from, theirs, &block, 0).ok_or_else(outside)?;
            let moved = block.between(memory.address() + at, from, (block.length, copy.pitch.1));
            // SAFETY: the piece is unused; the rest is the caller's promise.
            let fence = unsafe { self.copy_rectangle(&moved, Direction::FromGpu)? };
            self.shared.wait(fence, None)?;
            for line in 0..block.count {
                let bytes = to.get_mut(range(copy.to, own, &block, line)?).ok_or_else(outside)?;
                // SAFETY: the copy into the piece has ended.
                unsafe { memory.read(at + line * block.length, bytes)? };
            }
        }
        Ok(())
    }
}

impl Block {
    /// The copy of its lines between two places.
    fn between(&self, to: u64, from: u64, pitch: (u64, u64)) -> Rectangle {
        Rectangle { to, from, width: self.length, height: self.count, depth: 1, pitch, layer: (0, 0) }
    }
}
