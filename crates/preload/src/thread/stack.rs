//! What is known of this thread's own stack: from the deepest place at which a call was met to its end, all is mapped
//! for as long as the thread runs, so it may be read without asking the kernel.
//!
//! It must never take for a stack what another thread may unmap: an end is known for the first thread (ld.so's word)
//! and for threads of libc (the thread's own block lies at the end of its stack), and each page up to it was found
//! readable, which a fibre's stack below it, behind the guard page of this one, is not. What is not known to be the
//! thread's own stack is nobody's.
//!
//! Limits: a program that takes away the right to read its stack (`mprotect`), after a traced call ran there, may
//! die at a later call whose argument leads there. Guard pages are no such pages.

use crate::sys::{self, libc};

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
    pub fn holds(self, at: usize, len: usize) -> bool {
        let (offset, size) = (at.wrapping_sub(self.low), self.high.wrapping_sub(self.low));
        offset < size && len <= size - offset
    }
}

impl Span {
    /// How far it continues from an address in it.
    pub fn reach(self, at: usize) -> usize {
        if self.holds(at, 0) { self.high - at } else { 0 }
    }
}

/// What is known of a thread's stack; an empty span: nothing.
pub struct Stack {
    span: Span,
    failures: u32,
}

/// Where the quick frames find the two addresses.
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
    pub fn holds(&self, at: usize, len: usize) -> bool {
        self.span.holds(at, len)
    }

    /// What surely stays readable; it reaches down to `at`, an address on the stack of the call, if that is known to be
    /// the thread's.
    #[inline(always)]
    pub fn with(&mut self, at: usize) -> Span {
        if !self.span.holds(at, 0) && self.failures < TRIES {
            self.learn(at);
        }
        self.span
    }

    #[cold]
    fn learn(&mut self, at: usize) {
        let Span { low, high } = self.span;
        let page = at & !(PAGE - 1);
        let end = if high == 0 { end_above(at) } else { high };
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

/// Where the stack ends that `at` may lie on; 0: nobody knows.
fn end_above(at: usize) -> usize {
    // SAFETY: ld.so's variable.
    let first = libc::stack_end().map_or(0, |end| unsafe { *end } as usize);
    let ends = [first, sys::x86_64::thread_pointer()];
    ends.into_iter().find(|end| *end > at && end - at < MOST).unwrap_or(0)
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
            assert!(span.holds(at, 64) && span.holds(at & !4095, 1));
            assert!(!span.holds(at, usize::MAX) && !span.holds(at, MOST) && !span.holds(0, 1));
            let heap = std::vec![0u8; 64];
            assert!(!span.holds(heap.as_ptr() as usize, 1));
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
