//! Reading what the program gives to NVTX. A range is pushed often, and each copy by the kernel would cost more than
//! the rest. So the kernel is asked once for each page, and the page is read directly from then on. A pointer that is
//! wrong from the beginning does no harm. One that leads to memory that was valid and is not any more would fault, in
//! this tool as in any other.

use crate::process::copy;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const PAGES: usize = 256;

/// Pages that could be read, by their numbers.
static READABLE: [AtomicUsize; PAGES] = [const { AtomicUsize::new(0) }; PAGES];

/// Whether a byte can be read.
fn is_readable(at: usize) -> bool {
    let page = at / copy::PAGE;
    let Some(place) = READABLE.get(page % PAGES) else { return false };
    if place.load(Relaxed) == page && page != 0 {
        return true;
    }
    let mut byte = 0;
    // SAFETY: there is room for a byte.
    let is_readable = unsafe { copy::checked(at, &raw mut byte, 1) } == 1;
    if is_readable {
        place.store(page, Relaxed);
    }
    is_readable
}

/// How many of so many bytes lie in the page of an address, if that can be read.
fn readable_part(at: usize, most: usize) -> Option<usize> {
    is_readable(at).then(|| most.min(copy::PAGE - at % copy::PAGE))
}

/// Copies bytes as far as they can be read and as there is room; how many.
pub fn bytes(at: usize, to: &mut [u8]) -> usize {
    let mut length = 0;
    while let Some(room) = to.get_mut(length..).filter(|room| !room.is_empty()) {
        let from = at.wrapping_add(length);
        let Some(part) = readable_part(from, room.len()) else { break };
        // SAFETY: the page could be read, and there is room for so many bytes.
        unsafe { copy::words(from as *const u8, room.as_mut_ptr(), part) };
        length += part;
    }
    length
}

/// Copies a text up to its zero, as far as it can be read and as there is room; its length.
pub fn text(at: usize, to: &mut [u8]) -> usize {
    let mut readable_end = 0;
    for (n, to) in to.iter_mut().enumerate() {
        let from = at.wrapping_add(n);
        if n == readable_end {
            match readable_part(from, usize::MAX) {
                Some(part) => readable_end = n + part,
                None => return n,
            }
        }
        // SAFETY: the page could be read; nothing behind the zero is read.
        let byte = unsafe { (from as *const u8).read_volatile() };
        if byte == 0 {
            return n;
        }
        *to = byte;
    }
    to.len()
}
