//! What is known of this thread's own stack: from the deepest place at which a call was met to its end, all is mapped
//! for as long as the thread runs, so it may be read without asking the kernel.
//!
//! It must never take for a stack what another thread may unmap, such as a fibre's stack below this one. Both ends are
//! known of threads of libc: the thread's block lies at the end of its stack, and says where that begins. The first
//! thread's end is ld.so's word, and the kernel leaves a gap below its stack. Each page up to the end was found
//! readable. All other memory is no stack.
//!
//! Limits: a program that takes away the right to read its stack (`mprotect`), after a traced call ran there, may
//! die at a later call whose argument leads there. Guard pages are no such pages.

use super::libc;
use crate::sys;

const PAGE: usize = 4096;
/// Stacks are no larger. Mappings lie at least 128 MiB below the first thread's.
const MOST: usize = 64 << 20;
/// A thread on fibres is asked a limited number of times.
const TRIES: u32 = 8;

/// Addresses from `low` up to `high`.
#[derive(Clone, Copy)]
pub struct Span {
    low: usize,
    high: usize,
}

impl Span {
    /// True when all these bytes lie in it.
    #[inline(always)]
    pub fn contains(self, at: usize, len: usize) -> bool {
        let (offset, size) = (at.wrapping_sub(self.low), self.high.wrapping_sub(self.low));
        offset < size && len <= size - offset
    }
}

impl Span {
    /// How far it continues from an address in it.
    pub fn reach(self, at: usize) -> usize {
        if self.contains(at, 0) { self.high - at } else { 0 }
    }
}

/// What is known of a thread's stack; an empty span: nothing.
pub struct Stack {
    span: Span,
    failures: u32,
}

/// Where the fast frames find the two addresses.
pub const LOW: usize = core::mem::offset_of!(Stack, span) + core::mem::offset_of!(Span, low);
/// See `LOW`.
pub const HIGH: usize = core::mem::offset_of!(Stack, span) + core::mem::offset_of!(Span, high);

impl Stack {
    /// Nothing known.
    pub const fn none() -> Stack {
        Stack { span: Span { low: 0, high: 0 }, failures: 0 }
    }

    /// True when all these bytes lie in what is known already.
    #[inline(always)]
    pub fn contains(&self, at: usize, len: usize) -> bool {
        self.span.contains(at, len)
    }

    /// What surely stays readable; it reaches down to `at`, an address on the stack of the call, if that is known to be
    /// the thread's.
    #[inline(always)]
    pub fn with(&mut self, at: usize) -> Span {
        if !self.span.contains(at, 0) && self.failures < TRIES {
            self.extend_down_to(at);
        }
        self.span
    }

    #[cold]
    fn extend_down_to(&mut self, at: usize) {
        let Span { low, high } = self.span;
        let page = at & !(PAGE - 1);
        let end = if high == 0 { end_above(at) } else { high };
        let end = if end == first_end() || bottom().is_some_and(|bottom| at >= bottom) { end } else { 0 };
        let below = if high == 0 { end } else { low };
        let mut probe = page;
        while probe < below && sys::readable(probe) {
            probe += PAGE;
        }
        if below == 0 || page >= below || probe < below {
            self.failures += 1;
            return;
        }
        self.span = Span { low: page, high: end };
    }
}

/// Where the stack ends that `at` may lie on; 0: that is not known.
fn end_above(at: usize) -> usize {
    let candidates = [first_end(), sys::arch::thread_pointer()];
    candidates.into_iter().find(|end| *end > at && end - at < MOST).unwrap_or(0)
}

/// Where the first thread's stack ends; 0: that is not known.
fn first_end() -> usize {
    // SAFETY: ld.so's variable.
    libc::stack_end().map_or(0, |end| unsafe { *end } as usize)
}

/// Where the stack of a thread of libc begins. The thread's block has that beside the stack's length, and the block is
/// at the stack's end. `None`: this block is at no stack's end, as the first thread's.
fn bottom() -> Option<usize> {
    /// Words of the block in which the two are, in all versions of glibc.
    const WORDS: usize = 0x780 / 8;
    /// The most that is behind the beginning of the block.
    const BEHIND: usize = 64 << 10;
    let block = sys::arch::thread_pointer();
    // SAFETY: libc's block of this thread, which is longer.
    let words = unsafe { core::slice::from_raw_parts(block as *const usize, WORDS) };
    words.windows(2).find_map(|pair| {
        let &[from, len] = pair else { return None };
        let whole = from != 0 && from.is_multiple_of(PAGE) && len != 0 && len.is_multiple_of(PAGE);
        let distance = from.wrapping_add(len).wrapping_sub(block);
        (whole && from < block && distance != 0 && distance < BEHIND).then_some(from)
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    fn here() -> usize {
        let local = 0u8;
        &raw const local as usize
    }

    #[test]
    fn a_threads_own_stack() {
        let test = || {
            let mut stack = Stack::none();
            let at = here();
            let span = stack.with(at);
            assert!(span.contains(at, 64) && span.contains(at & !4095, 1));
            assert!(!span.contains(at, usize::MAX) && !span.contains(at, MOST) && !span.contains(0, 1));
            let heap = std::vec![0u8; 64];
            assert!(!span.contains(heap.as_ptr() as usize, 1));
            assert_eq!((stack.with(heap.as_ptr() as usize).low, stack.failures), (span.low, 1));
        };
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_stack_that_is_nobodys() {
        let mut stack = Stack::none();
        let fibre = std::vec![0u8; 65536];
        for _ in 0..100 {
            assert_eq!(stack.with(fibre.as_ptr() as usize + 1000).high, 0);
        }
        assert_eq!(stack.failures, TRIES);
    }
}
