//! A hidden table: words in writable memory, as in the driver, because tools replace them in place.

use crate::counts::HIDDEN;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A table of `N` words. The first one is the size in bytes, except in tables without a size.
#[repr(transparent)]
pub struct Table<const N: usize>([AtomicPtr<c_void>; N]);

impl<const N: usize> Table<N> {
    /// A table whose unknown slots count the call and return 0.
    pub const fn sized() -> Self {
        Self::refusing(N, unknown as *const ())
    }

    /// A table that states a size of `size` words. Its unknown slots are the given function.
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

    /// The address that programs get.
    pub fn address(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }

    /// The present value of a word.
    pub fn word(&self, slot: usize) -> *const c_void {
        self.0[slot].load(Ordering::Relaxed)
    }
}

extern "C" fn unknown() -> u32 {
    HIDDEN.fetch_add(1, Ordering::Relaxed);
    0
}
