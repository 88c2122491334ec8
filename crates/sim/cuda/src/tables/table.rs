//! A hidden table: words in writable memory, as in the driver, because tools replace them in place.

use crate::counts::HIDDEN;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A table: `N` words, the first of which is its size in bytes unless it has none.
#[repr(transparent)]
pub struct Table<const N: usize>([AtomicPtr<c_void>; N]);

impl<const N: usize> Table<N> {
    /// A table whose unknown slots count the call and answer 0.
    pub const fn sized() -> Self {
        Self::refusing(N, unknown as *const ())
    }

    /// A table that says it has `size` words, and whose unknown slots are a function.
    pub const fn refusing(size: usize, unknown: *const ()) -> Self {
        let mut words = [const { AtomicPtr::new(std::ptr::null_mut()) }; N];
        let mut slot = 1;
        while slot < N {
            words[slot] = AtomicPtr::new(unknown.cast_mut().cast());
            slot += 1;
        }
        words[0] = AtomicPtr::new(std::ptr::without_provenance_mut(8 * size));
        Table(words)
    }

    pub const fn with(mut self, slot: usize, function: *const ()) -> Self {
        self.0[slot] = AtomicPtr::new(function.cast_mut().cast());
        self
    }

    /// Where it lies: what programs get.
    pub fn address(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }

    /// What a word holds now.
    pub fn word(&self, slot: usize) -> *const c_void {
        self.0[slot].load(Ordering::Relaxed)
    }
}

extern "C" fn unknown() -> u32 {
    HIDDEN.fetch_add(1, Ordering::Relaxed);
    0
}
