//! A hidden table: words in writable memory, as in the driver, because tools replace them in place. The function in a
//! known slot counts the call and calls the implementation. So a trace can be compared with the calls that were made.

use crate::counts::HIDDEN;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A table with `N` words; `T` stands for it in the type. The first word is the size in bytes, except in tables without
/// a size.
#[repr(C)]
pub struct Table<T, const N: usize> {
    words: [AtomicPtr<c_void>; N],
    functions: [AtomicPtr<c_void>; N],
    calls: [AtomicU64; N],
    which: PhantomData<fn() -> T>,
}

/// A type that stands for a table.
pub trait TableType {
    fn table() -> &'static dyn AnyTable;
}

/// A function of a slot takes at most six words, all in integer registers.
type Function = extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;

/// The function that a known slot holds.
extern "C" fn counted<T: TableType, const SLOT: usize>(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    let (function, calls) = T::table().slot(SLOT);
    calls.fetch_add(1, Ordering::Relaxed);
    // SAFETY: `with` has put a function of this kind there.
    let function: Function = unsafe { std::mem::transmute(function) };
    function(a, b, c, d, e, f)
}

/// A table of any length.
pub trait AnyTable: Sync {
    /// The implementation and the counter of a slot.
    fn slot(&self, slot: usize) -> (*mut c_void, &AtomicU64);
    /// The number of calls of each slot.
    fn calls(&self) -> &[AtomicU64];
}

impl<T, const N: usize> AnyTable for Table<T, N> {
    fn slot(&self, slot: usize) -> (*mut c_void, &AtomicU64) {
        (self.functions[slot].load(Ordering::Relaxed), &self.calls[slot])
    }
    fn calls(&self) -> &[AtomicU64] {
        &self.calls
    }
}

impl<T: TableType, const N: usize> Table<T, N> {
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
        let functions = [const { AtomicPtr::new(std::ptr::null_mut()) }; N];
        Table { words, functions, calls: [const { AtomicU64::new(0) }; N], which: PhantomData }
    }

    pub const fn with<const SLOT: usize>(mut self, function: *const ()) -> Self {
        self.functions[SLOT] = AtomicPtr::new(function.cast_mut().cast());
        self.words[SLOT] = AtomicPtr::new((counted::<T, SLOT> as *const ()).cast_mut().cast());
        self
    }

    /// The address that programs get.
    pub fn address(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }

    /// The present value of a word.
    pub fn word(&self, slot: usize) -> *const c_void {
        self.words[slot].load(Ordering::Relaxed)
    }
}

extern "C" fn unknown() -> u32 {
    HIDDEN.fetch_add(1, Ordering::Relaxed);
    0
}
