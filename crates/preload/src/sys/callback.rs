//! A function of an upper floor that a lower one calls: a word, which the start fills before anything is recorded.

use core::sync::atomic::{AtomicPtr, Ordering::*};

pub struct Callback(AtomicPtr<()>);

impl Callback {
    /// Of nobody yet.
    pub const fn none() -> Callback {
        Callback(AtomicPtr::new(core::ptr::null_mut()))
    }
    /// At the start.
    pub fn set(&self, function: fn()) {
        self.0.store(function as *mut (), Release);
    }
    /// Calls it, if there is one.
    pub fn call(&self) {
        let function = self.0.load(Acquire);
        if !function.is_null() {
            // SAFETY: only `set` writes the word.
            unsafe { core::mem::transmute::<*mut (), fn()>(function)() };
        }
    }
}
