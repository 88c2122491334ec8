//! The segments of the program's own file, which nobody unloads: what lies in them may be read as it is, in writable ones only
//! what a call has just written. Libraries are not in it, for another thread may close one at any moment.

use crate::loader::elf::{PF_W, PT_LOAD};
use crate::loader::live;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const MOST: usize = 6;
/// First address; length, 0 for none; whether it is writable.
static SEGMENTS: [[AtomicUsize; 3]; MOST] = [const { [const { AtomicUsize::new(0) }; 3] }; MOST];

/// Looks at the program, once at start.
pub fn look() {
    live::find(|info| {
        // SAFETY: the loader's own list; the first object is the program.
        let headers = unsafe { core::slice::from_raw_parts(info.phdr, usize::from(info.phnum)) };
        let loaded = headers.iter().filter(|h| h.kind == PT_LOAD);
        for (h, [at, len, writable]) in loaded.zip(&SEGMENTS) {
            at.store(info.addr.wrapping_add(h.vaddr as usize), Relaxed);
            writable.store((h.flags & PF_W != 0).into(), Relaxed);
            len.store(h.memsz as usize, Relaxed);
        }
        Some(())
    });
}

/// True when all these bytes lie in the program, and `proved` or in a segment that nobody writes.
#[inline(never)]
pub fn holds(from: usize, bytes: usize, proved: bool) -> bool {
    SEGMENTS.iter().any(|[at, len, writable]| {
        let (offset, len) = (from.wrapping_sub(at.load(Relaxed)), len.load(Relaxed));
        offset < len && bytes <= len - offset && (proved || writable.load(Relaxed) == 0)
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn the_programs_own_data() {
        static CONSTANT: [u8; 16] = [7; 16];
        static VARIABLE: AtomicUsize = AtomicUsize::new(0);
        look();
        let (constant, variable) = (CONSTANT.as_ptr() as usize, &raw const VARIABLE as usize);
        assert!(holds(constant, 16, false) && holds(constant, 16, true));
        assert!(holds(variable, 8, true) && !holds(variable, 8, false));
        let heap = std::vec![0u8; 8];
        assert!(!holds(heap.as_ptr() as usize, 8, true) && !holds(0, 1, true) && !holds(constant, usize::MAX, true));
    }
}
