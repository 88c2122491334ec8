//! Copies and sets of lines, planes and volumes; the one place that touches a program's bytes.

use super::allocation;
use super::engine;
use super::fault::{Answer, Fault};
use super::stream::Work;
use super::world::{Guard, Handle, World};

/// Whether a side has to be memory that the driver knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The program's memory, known or not.
    Host,
    /// Memory known to the driver.
    Device,
    /// Whatever the address is.
    Any,
}

/// One end of a copy: rows of bytes at a distance, planes of rows at a distance.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub side: Side,
    pub start: u64,
    pub pitch: u64,
    pub plane: u64,
}

/// Bytes in a row, rows, planes.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

impl End {
    pub fn line(side: Side, start: u64) -> Self {
        End { side, start, pitch: 0, plane: 0 }
    }

    fn require(&self, world: &World, extent: Extent) -> Answer {
        let last = self
            .plane
            .checked_mul(extent.depth - 1)
            .and_then(|p| p.checked_add(self.pitch.checked_mul(extent.height - 1)?)?.checked_add(extent.width))
            .ok_or(Fault::INVALID_VALUE)?;
        let rows_overlap = extent.height > 1 && self.pitch < extent.width;
        if self.start == 0 || self.start.checked_add(last).is_none() || rows_overlap {
            return Err(Fault::INVALID_VALUE);
        }
        match self.side {
            Side::Device => allocation::require(world, self.start, last),
            Side::Any if allocation::find(world, self.start).is_some() => allocation::require(world, self.start, last),
            Side::Any | Side::Host => Ok(()),
        }
    }

    /// Memory that the driver does not know: such copies are over when the call is.
    fn pageable(&self, world: &World) -> bool {
        self.side != Side::Device && allocation::find(world, self.start).is_none()
    }
}

impl Extent {
    pub fn line(width: u64) -> Self {
        Extent { width, height: 1, depth: 1 }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// Copies in a stream's order; `wait` for the calls that are over when the copy is.
pub fn copy(world: Guard, stream: Handle, to: End, from: End, extent: Extent, wait: bool) -> Answer {
    if extent.is_empty() {
        return Ok(());
    }
    to.require(&world, extent)?;
    from.require(&world, extent)?;
    let wait = wait || to.pageable(&world) || from.pageable(&world);
    let work = Work::Ours(Box::new(move || {
        each_row(extent, |plane, row| {
            let at = |end: &End| (end.start + plane * end.plane + row * end.pitch) as *mut u8;
            // SAFETY: both ends were checked against the allocations, or are the program's own memory, of which it
            // said that so many bytes are there; a program that frees them before the copy is over breaks the rules.
            unsafe { std::ptr::copy(at(&from), at(&to), extent.width as usize) };
        });
    }));
    if wait { engine::run(world, stream, work) } else { engine::submit(world, stream, work) }
}

/// Sets rows of `width` elements of `bytes` bytes each.
pub fn set(world: Guard, stream: Handle, to: End, value: u32, bytes: u64, extent: Extent, wait: bool) -> Answer {
    let in_bytes = Extent { width: extent.width.checked_mul(bytes).ok_or(Fault::INVALID_VALUE)?, ..extent };
    if extent.is_empty() {
        return Ok(());
    }
    if !to.start.is_multiple_of(bytes) || (extent.height > 1 && !to.pitch.is_multiple_of(bytes)) {
        return Err(Fault::INVALID_VALUE);
    }
    to.require(&world, in_bytes)?;
    let work = Work::Ours(Box::new(move || {
        each_row(extent, |plane, row| {
            let at = to.start + plane * to.plane + row * to.pitch;
            let count = extent.width as usize;
            // SAFETY: the rows were checked to lie in one allocation and to be aligned to the element.
            unsafe {
                match bytes {
                    1 => std::slice::from_raw_parts_mut(at as *mut u8, count).fill(value as u8),
                    2 => std::slice::from_raw_parts_mut(at as *mut u16, count).fill(value as u16),
                    _ => std::slice::from_raw_parts_mut(at as *mut u32, count).fill(value),
                }
            }
        });
    }));
    if wait { engine::run(world, stream, work) } else { engine::submit(world, stream, work) }
}

fn each_row(extent: Extent, row_at: impl Fn(u64, u64)) {
    for plane in 0..extent.depth {
        for row in 0..extent.height {
            row_at(plane, row);
        }
    }
}

/// Puts the first content into an allocation of `size` bytes that was just made.
pub fn fill(address: u64, start: &[u8], size: u64) {
    let len = start.len().min(size as usize);
    // SAFETY: the allocation holds `size` bytes and nobody else knows its address yet.
    unsafe { std::ptr::copy_nonoverlapping(start.as_ptr(), address as *mut u8, len) };
}
