//! Copies and sets of lines, planes and volumes; the one place that touches a program's bytes.

use super::allocation;
use super::driver_state::DriverState;
use super::fault::{Answer, Fault};
use super::shape::{Copy3D, Set};

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

/// What is left to do once all is checked.
pub type Run = Box<dyn FnOnce() + Send>;

impl End {
    fn require(&self, world: &DriverState, extent: Extent) -> Answer {
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
    fn pageable(&self, world: &DriverState) -> bool {
        self.side != Side::Device && allocation::find(world, self.start).is_none()
    }
}

impl Extent {
    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// Whether a copy has to be over when its call is.
pub fn has_to_wait(world: &DriverState, what: &Copy3D) -> bool {
    what.ends(world).is_ok_and(|(to, from)| to.pageable(world) || from.pageable(world))
}

/// Checks a copy; nothing is left to do if it is empty.
pub fn copy(world: &DriverState, what: &Copy3D) -> Answer<Option<Run>> {
    let extent = what.extent();
    if extent.is_empty() {
        return Ok(None);
    }
    let (to, from) = what.ends(world)?;
    to.require(world, extent)?;
    from.require(world, extent)?;
    Ok(Some(Box::new(move || {
        each_row(extent, |plane, row| {
            let at = |end: &End| (end.start + plane * end.plane + row * end.pitch) as *mut u8;
            // SAFETY: both ends were checked against the allocations, or are the program's own memory, of which it
            // said that so many bytes are there; a program that frees them before the copy is over breaks the rules.
            unsafe { std::ptr::copy(at(&from), at(&to), extent.width as usize) };
        });
    })))
}

/// Checks a set of rows.
pub fn set(world: &DriverState, what: &Set) -> Answer<Option<Run>> {
    let Set { value, element, width, height, .. } = *what;
    if !matches!(element, 1 | 2 | 4) {
        return Err(Fault::INVALID_VALUE);
    }
    let bytes = u64::from(element);
    let extent = Extent { width, height, depth: 1 };
    if extent.is_empty() {
        return Ok(None);
    }
    let to = what.end();
    if !to.start.is_multiple_of(bytes) || (height > 1 && !to.pitch.is_multiple_of(bytes)) {
        return Err(Fault::INVALID_VALUE);
    }
    let in_bytes = Extent { width: width.checked_mul(bytes).ok_or(Fault::INVALID_VALUE)?, ..extent };
    to.require(world, in_bytes)?;
    Ok(Some(Box::new(move || {
        each_row(extent, |_, row| {
            let at = to.start + row * to.pitch;
            let count = extent.width as usize;
            // SAFETY: the rows were checked to lie in one allocation and to be aligned to the element.
            unsafe {
                match element {
                    1 => std::slice::from_raw_parts_mut(at as *mut u8, count).fill(value as u8),
                    2 => std::slice::from_raw_parts_mut(at as *mut u16, count).fill(value as u16),
                    _ => std::slice::from_raw_parts_mut(at as *mut u32, count).fill(value),
                }
            }
        });
    })))
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
