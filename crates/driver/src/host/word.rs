//! Words of memory that a stream writes or waits for, as atomics.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A word in memory that the driver knows.
#[derive(Clone, Copy)]
pub enum Word {
    Half(&'static AtomicU32),
    Whole(&'static AtomicU64),
}

impl Word {
    /// # Safety
    /// The address is a multiple of 4 and has 4 bytes of mapped memory, for as long as the word is used.
    pub unsafe fn half(address: u64) -> Self {
        // SAFETY: the caller promised it.
        Word::Half(unsafe { AtomicU32::from_ptr(address as *mut u32) })
    }

    /// # Safety
    /// The address is a multiple of 8 and has 8 bytes of mapped memory, for as long as the word is used.
    pub unsafe fn whole(address: u64) -> Self {
        // SAFETY: the caller promised it.
        Word::Whole(unsafe { AtomicU64::from_ptr(address as *mut u64) })
    }

    /// Its address, and its size in words of 32 bits.
    pub fn parts(self) -> (u64, u64) {
        match self {
            Word::Half(word) => (word.as_ptr() as u64, 1),
            Word::Whole(word) => (word.as_ptr() as u64, 2),
        }
    }

    pub fn store(self, value: u64) {
        match self {
            Word::Half(word) => word.store(value as u32, Ordering::SeqCst),
            Word::Whole(word) => word.store(value, Ordering::SeqCst),
        }
    }

    /// Compares as CUstreamWaitValue_flags say: 0 not less (cyclic), 1 equal, 2 and, 3 nor. A half word is compared in
    /// the upper half of 64 bits, so that one cyclic comparison serves both sizes.
    pub fn satisfies(self, value: u64, comparison: u32) -> bool {
        let (now, value, ones) = match self {
            Word::Half(word) => (u64::from(word.load(Ordering::SeqCst)) << 32, value << 32, u64::MAX << 32),
            Word::Whole(word) => (word.load(Ordering::SeqCst), value, u64::MAX),
        };
        match comparison {
            0 => now.wrapping_sub(value) as i64 >= 0,
            1 => now == value,
            2 => now & value != 0,
            _ => !(now | value) & ones != 0,
        }
    }
}

/// One operation on a word.
#[derive(Clone, Copy)]
pub enum WordOperation {
    Write(Word, u64),
    Wait(Word, u64, u32),
}
