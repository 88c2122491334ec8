//! Reading the program's memory. This thread's own stack above the call is read directly: the thread runs on it.
//! Everything else the program may have unmapped or protected, or may do so at this moment in another thread. So the
//! kernel copies it and reports how far it came: there is no fault.
//!
//! A seccomp filter may refuse that system call. Then each page is tested first and read directly after. A page that
//! another thread takes away between the two would be a fault; without a filter this path is not used.

use super::{fork, page};
use crate::sys;
use crate::sys::arch::load4;
use crate::sys::stack::{Span, Stack};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use cutap_calls::capture::{can_be, is_programs};
use cutap_wire::diagnostic;

pub const PAGE: usize = 4096;
/// The kernel does not copy for us (a seccomp filter).
static REFUSED: AtomicBool = AtomicBool::new(false);

/// What may be read directly during one call.
#[derive(Clone, Copy)]
pub struct Pages {
    page: usize,
    stack: Span,
}

impl Pages {
    /// `at` is an address on the stack of the call, or 0 if none is known.
    #[inline(always)]
    pub fn new(at: usize, stack: &mut Stack) -> Pages {
        Pages { page: at & !(PAGE - 1), stack: stack.with(at) }
    }

    /// Nothing is known: the kernel copies all.
    pub fn none() -> Pages {
        Pages::new(0, &mut Stack::none())
    }

    /// A number of up to eight bytes; `None` if it cannot be read.
    pub fn number(&self, at: usize, bytes: usize) -> Option<u64> {
        let (mut word, bytes) = (0u64, bytes.min(8));
        // SAFETY: a word of ours.
        let read = unsafe { self.copy(at, (&raw mut word).cast(), bytes) };
        (read == bytes).then_some(word)
    }

    /// True when these bytes lie on this thread's own stack, as far as it is known.
    #[inline(always)]
    pub fn on_stack(&self, from: usize, len: usize) -> bool {
        let offset = from.wrapping_sub(self.page);
        let in_page = self.page != 0 && offset < PAGE && len <= PAGE - offset;
        in_page || self.stack.contains(from, len)
    }

    /// True when the processor has memory at `at`, and where it lies does not tell so already. Nothing is read, for
    /// memory that host and devices share would move at that; what was never written is not there yet.
    pub fn present(&self, at: usize) -> bool {
        let may_be_present = can_be(at as u64) && !is_programs(at as u64);
        may_be_present && (self.on_stack(at, 1) || sys::resident(at & !(PAGE - 1)))
    }

    /// Copies `len` bytes from `from` as far as they can be read; how many could.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub unsafe fn copy(&self, from: usize, to: *mut u8, len: usize) -> usize {
        if self.on_stack(from, len) {
            // SAFETY: this thread's own stack; `to` is the caller's promise.
            unsafe { words(from as *const u8, to, len) };
            return len;
        }
        // SAFETY: the caller's promise.
        unsafe { checked(from, to, len) }
    }
}

/// Copies `len` bytes of the program's memory from `from` as far as they can be read, wherever they are; how many
/// could.
///
/// # Safety
/// `to` is writable for `len` bytes.
pub unsafe fn checked(from: usize, to: *mut u8, len: usize) -> usize {
    if len == 0 || from == 0 {
        return 0;
    }
    if !REFUSED.load(Relaxed) {
        // A piece that crosses into an unmapped page may not be copied at all, so it is cut where pages meet.
        let first = len.min(PAGE - from % PAGE);
        let pieces = [(from, first), (from.wrapping_add(first), len - first)];
        let count = if first == len { 1 } else { 2 };
        // SAFETY: the caller's promise.
        match unsafe { sys::read_process(fork::pid(), to, len, pieces.get(..count).unwrap_or(&[])) } {
            Ok(n) => return n,
            Err(false) => return 0,
            Err(true) => {}
        }
        if !REFUSED.swap(true, Relaxed) {
            page::count(diagnostic::INPUTS_REFUSED, 1);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { tested(from, to, len) }
}

/// Copies two pieces (address, length), one behind the other, as far as they can be read; how many bytes. None where
/// the kernel does not copy.
///
/// # Safety
/// `to` is writable for both.
pub unsafe fn copy_two_pieces(first: (usize, usize), second: (usize, usize), to: *mut u8) -> usize {
    if REFUSED.load(Relaxed) {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { sys::read_process(fork::pid(), to, first.1 + second.1, &[first, second]) }.unwrap_or(0)
}

/// Like `checked`, where the kernel does not copy.
///
/// # Safety
/// `to` is writable for `len` bytes.
#[cold]
unsafe fn tested(from: usize, to: *mut u8, len: usize) -> usize {
    let mut copied = 0;
    while copied < len {
        let at = from.wrapping_add(copied);
        let part = (len - copied).min(PAGE - at % PAGE);
        if !sys::readable(at & !(PAGE - 1)) {
            break;
        }
        // SAFETY: the kernel has just read from this page; `to` is the caller's promise.
        unsafe { words(at as *const u8, to.add(copied), part) };
        copied += part;
    }
    copied
}

/// So many words of the program's memory, at an address that need not be aligned; `None` if they cannot all be read.
pub fn program_words<const N: usize>(at: usize) -> Option<[u64; N]> {
    let mut words = [0u64; N];
    // SAFETY: the words are that long.
    (unsafe { checked(at, words.as_mut_ptr().cast(), N * 8) } == N * 8).then_some(words)
}

/// As much of the window as can be read here without crossing into another page, at most `most` bytes; `None` if no
/// byte can.
pub fn window(at: usize, to: &mut [u8], most: usize) -> Option<&[u8]> {
    let len = to.len().min(most).min(PAGE - at % PAGE);
    // SAFETY: the window is that long.
    let got = unsafe { checked(at, to.as_mut_ptr(), len) };
    to.get(..got).filter(|read| !read.is_empty())
}

/// The length of a text of the program's, without its zero; `None` if it cannot be read up to a zero, or has more than
/// `most` bytes or one that `may` refuses.
pub fn text_length(at: usize, most: usize, may: impl Fn(u8) -> bool) -> Option<usize> {
    let (mut bytes, mut len) = ([0u8; 1024], 0);
    while len <= most {
        let read = window(at.wrapping_add(len), &mut bytes, usize::MAX)?;
        match read.iter().position(|&c| !may(c) || c == 0) {
            None => len += read.len(),
            Some(n) => return (read.get(n) == Some(&0) && len + n <= most).then_some(len + n),
        }
    }
    None
}

/// True when a text of the program's is this one.
pub fn is_text(mut at: usize, mut text: &[u8]) -> bool {
    let mut bytes = [0u8; 256];
    loop {
        let Some(read) = window(at, &mut bytes, text.len() + 1) else { return false };
        let n = text.len().min(read.len());
        let (Some(same), Some(rest)) = (text.get(..n), text.get(n..)) else { return false };
        if !read.starts_with(same) {
            return false;
        }
        if let Some(end) = read.get(n) {
            return *end == 0;
        }
        (at, text) = (at.wrapping_add(read.len()), rest);
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
