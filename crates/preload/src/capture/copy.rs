//! Reading the program's memory. What surely stays mapped is read as it is: the page in which the call's own stack begins, for
//! this thread runs on it; this thread's stack as far as it is known; the program's own file. All else the kernel copies, and says
//! how far it came, so there is never a fault, also when another thread unmaps the memory at this moment.

use super::program;
use crate::sys::x86_64::load4;
use crate::thread::fork;
use crate::thread::stack::{Span, Stack};
use crate::{start, sys};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use cutap_calls::capture::{can_be, is_programs};
use cutap_wire::count;

const PAGE: usize = 4096;
/// The kernel will not copy for us (a seccomp filter): only the stack's page is read any more.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// What may be read as it is during one call.
pub struct Pages {
    page: usize,
    stack: Span,
    proved: bool,
}

impl Pages {
    /// `at` is an address on the stack of the call, or 0 if none is known; `proved`: the call has succeeded, so
    /// what it wrote can be read.
    #[inline(always)]
    pub fn new(at: usize, stack: &mut Stack, proved: bool) -> Pages {
        Pages { page: at & !(PAGE - 1), stack: stack.with(at), proved }
    }

    /// True when these bytes lie on this thread's own stack, as far as it is known.
    #[inline(always)]
    pub fn on_stack(&self, from: usize, len: usize) -> bool {
        let offset = from.wrapping_sub(self.page);
        let in_page = self.page != 0 && offset < PAGE && len <= PAGE - offset;
        in_page || self.stack.holds(from, len)
    }

    /// True when these bytes may be read as they are.
    #[inline(always)]
    pub fn direct(&self, from: usize, len: usize) -> bool {
        self.on_stack(from, len) || program::holds(from, len, self.proved)
    }

    /// True when the processor has memory at `at`, and where it lies does not tell so already. Nothing is read, for memory
    /// that host and devices share would move at that; what was never written is not there yet.
    pub fn present(&self, at: usize) -> bool {
        let asked = can_be(at as u64) && !is_programs(at as u64);
        asked && (self.direct(at, 1) || sys::resident(at & !(PAGE - 1)))
    }

    /// Copies `len` bytes from `from` as far as they can be read; how many could.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub unsafe fn copy(&self, from: usize, to: *mut u8, len: usize) -> usize {
        if self.direct(from, len) {
            // SAFETY: it stays mapped, see above; `to` is the caller's promise.
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
        match unsafe { sys::read_process(fork::pid(), to, len, pieces.get(..count).unwrap_or(&[])) } {
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

/// Copies memory that the program may be writing, eight bytes at a time, then four.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes.
#[inline(always)]
pub unsafe fn words(from: *const u8, to: *mut u8, len: usize) {
    let mut n = 0;
    // SAFETY: the caller's promise.
    unsafe {
        // Not by `step_by`: its bookkeeping would be as much as the copy.
        while n + 8 <= len {
            // By halves: what was written a moment ago in halves would have to reach the cache first, as a whole.
            let [low, high] = [n, n + 4].map(|at| u64::from(load4(from as usize + at)));
            to.add(n).cast::<u64>().write_unaligned(low | high << 32);
            n += 8;
        }
        if n + 4 <= len {
            to.add(n).cast::<u32>().write_unaligned(load4(from as usize + n));
            n += 4;
        }
        while n < len {
            to.add(n).write(from.add(n).read_volatile());
            n += 1;
        }
    }
}
