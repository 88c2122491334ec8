//! Reading the interpreter's memory. Until its layout has proved right the kernel copies each word, so that a wrong
//! guess is no fault; after that words are loaded.

use crate::process::copy;
use crate::sys::arch::{load4, load8};

/// A way to read.
#[derive(Clone, Copy)]
pub struct Memory {
    /// Words are loaded: the addresses come from a layout that has proved right.
    pub is_proved: bool,
}

/// Bytes that are looked at in one piece at most.
pub const MOST: usize = 256;

impl Memory {
    /// Whether an address can be one of the program's, of something that is aligned so.
    #[inline(always)]
    pub fn can_be(at: usize, aligned: usize) -> bool {
        at >= 4096 && at >> 47 == 0 && at & (aligned - 1) == 0
    }

    /// Eight bytes.
    #[inline(always)]
    pub fn word(self, at: usize) -> Option<u64> {
        if !Memory::can_be(at, 8) {
            return None;
        }
        if self.is_proved {
            // SAFETY: a field of a struct that this thread's frames keep alive.
            return Some(unsafe { load8(at) });
        }
        let mut word = 0u64;
        // SAFETY: a word on this stack.
        (unsafe { copy::checked(at, (&raw mut word).cast(), 8) } == 8).then_some(word)
    }

    /// An address.
    #[inline(always)]
    pub fn address(self, at: usize) -> Option<usize> {
        self.word(at).map(|word| word as usize)
    }

    /// Four bytes.
    #[inline(always)]
    pub fn half(self, at: usize) -> Option<u32> {
        if !Memory::can_be(at, 4) {
            return None;
        }
        if self.is_proved {
            // SAFETY: as above.
            return Some(unsafe { load4(at) });
        }
        let mut word = 0u32;
        // SAFETY: four bytes on this stack.
        (unsafe { copy::checked(at, (&raw mut word).cast(), 4) } == 4).then_some(word)
    }

    /// One byte.
    #[inline(always)]
    pub fn byte(self, at: usize) -> Option<u8> {
        let word = self.half(at & !3)?;
        Some((word >> (8 * (at & 3))) as u8)
    }

    /// Calls `f` with up to [`MOST`] bytes.
    #[inline(always)]
    pub fn bytes<R>(self, at: usize, length: usize, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let length = length.min(MOST);
        if length == 0 {
            return Some(f(&[]));
        }
        if !Memory::can_be(at, 1) {
            return None;
        }
        if self.is_proved {
            // SAFETY: characters or bytes of an object that does not change and that this thread's frames keep alive.
            return Some(f(unsafe { core::slice::from_raw_parts(at as *const u8, length) }));
        }
        self.copied(at, length, f)
    }

    #[inline(never)]
    fn copied<R>(self, at: usize, length: usize, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let mut bytes = [0u8; MOST];
        // SAFETY: so many bytes on this stack.
        let read = unsafe { copy::checked(at, bytes.as_mut_ptr(), length.min(MOST)) };
        bytes.get(..length).filter(|_| read == length).map(f)
    }
}
