//! Reading the program's memory. Only the page in which the call's own stack begins is read as it is:
//! this thread runs on it. All else the kernel copies, and says how far it came, so there is never a
//! fault, also when another thread unmaps the memory at this moment.

use crate::{start, sys};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use cutap_wire::count;

const PAGE: usize = 4096;
/// The kernel will not copy for us (a seccomp filter): only the stack's page is read any more.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Where a call's stack begins.
pub struct Pages {
    stack: usize,
}

impl Pages {
    /// `stack` is an address on the stack of the call, or 0 if none is known.
    pub fn new(stack: usize) -> Pages {
        Pages { stack: stack & !(PAGE - 1) }
    }

    /// Copies `len` bytes from `from` as far as they can be read; how many could.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub unsafe fn copy(&self, from: usize, to: *mut u8, len: usize) -> usize {
        let offset = from.wrapping_sub(self.stack);
        if self.stack != 0 && offset < PAGE && len <= PAGE - offset {
            // SAFETY: inside the page that this thread's stack is in; `to` is the caller's promise.
            unsafe { words(from as *const u8, to, len) };
            return len;
        }
        if len == 0 || REFUSED.load(Relaxed) {
            return 0;
        }
        // A piece that crosses into an unmapped page may not be copied at all, so it is cut where pages meet.
        let first = len.min(PAGE - from % PAGE);
        let pieces = [(from, first), (from.wrapping_add(first), len - first)];
        let count = if first == len { 1 } else { 2 };
        // SAFETY: the caller's promise.
        match unsafe { sys::read_process(to, len, pieces.get(..count).unwrap_or(&[])) } {
            Ok(n) => n,
            Err(refused) => {
                if refused && !REFUSED.swap(true, Relaxed) {
                    start::count(count::INPUTS_REFUSED, 1);
                }
                0
            }
        }
    }
}

/// Copies memory that the program may be writing: by volatile reads, eight bytes at a time.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes.
unsafe fn words(from: *const u8, to: *mut u8, len: usize) {
    let whole = len / 8 * 8;
    // SAFETY: the caller's promise.
    unsafe {
        for n in (0..whole).step_by(8) {
            let word = from.add(n).cast::<[u8; 8]>().read_volatile();
            to.add(n).cast::<[u8; 8]>().write(word);
        }
        for n in whole..len {
            to.add(n).write(from.add(n).read_volatile());
        }
    }
}
