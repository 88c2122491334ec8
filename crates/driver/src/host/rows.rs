//! Copies and sets of rows of bytes. Only this file writes to memory of the program on behalf of an operation. It must
//! not check ranges: the rule that makes an operation has checked them.

/// Size of a copy: bytes in a row, rows, planes.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

impl Extent {
    pub fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    fn each_row(&self, row_at: impl Fn(u64, u64)) {
        for plane in 0..self.depth {
            for row in 0..self.height {
                row_at(plane, row);
            }
        }
    }
}

/// Rows in memory: the first byte, the distance of rows and the distance of planes, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub start: u64,
    pub pitch: u64,
    pub plane: u64,
}

impl Rows {
    fn at(&self, plane: u64, row: u64) -> *mut u8 {
        (self.start + plane * self.plane + row * self.pitch) as *mut u8
    }
}

/// Copies rows; the two places may overlap.
///
/// # Safety
/// All rows of both places are mapped memory.
pub unsafe fn copy(to: Rows, from: Rows, extent: Extent) {
    extent.each_row(|plane, row| {
        // SAFETY: the caller promised it.
        unsafe { std::ptr::copy(from.at(plane, row), to.at(plane, row), extent.width as usize) };
    });
}

/// Sets `extent.width` elements of 1, 2 or 4 bytes in each row.
///
/// # Safety
/// All rows are mapped memory, and their starts are aligned to the element.
pub unsafe fn set(to: Rows, extent: Extent, element: u32, value: u32) {
    let count = extent.width as usize;
    extent.each_row(|plane, row| {
        let at = to.at(plane, row);
        // SAFETY: the caller promised it.
        unsafe {
            match element {
                1 => std::slice::from_raw_parts_mut(at, count).fill(value as u8),
                2 => std::slice::from_raw_parts_mut(at.cast::<u16>(), count).fill(value as u16),
                _ => std::slice::from_raw_parts_mut(at.cast::<u32>(), count).fill(value),
            }
        }
    });
}

/// Writes the initial content of a new allocation of `size` bytes; the rest of it stays zero.
///
/// # Safety
/// The allocation has `size` bytes, and no other code knows its address yet.
pub unsafe fn fill(address: u64, content: &[u8], size: u64) {
    let len = content.len().min(size as usize);
    // SAFETY: the caller promised it.
    unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), address as *mut u8, len) };
}
