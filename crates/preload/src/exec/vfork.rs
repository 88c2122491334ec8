//! libc's vfork, in place of which the program gets that of `arch::vfork`.
//!
//! In a process that is left alone (`entry/other_libc.rs`) its own vfork is jumped to immediately.

use crate::loader::{elf::is_function, map};
use crate::sys;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The next object's vfork behind us; 0: the process is not left alone, or has none.
pub static REAL: AtomicUsize = AtomicUsize::new(0);
/// The one that this library exports.
static OURS: AtomicUsize = AtomicUsize::new(0);

/// At the start.
#[cfg(feature = "inject")]
pub fn set_entry(ours: usize) {
    OURS.store(ours, Relaxed);
}

/// This process is left alone.
pub fn pass_on() {
    let mut behind_us = false;
    map::each(|base, tables, ours| {
        if ours || !behind_us || REAL.load(Relaxed) != 0 {
            behind_us |= ours;
            return;
        }
        // SAFETY: the object is loaded.
        unsafe {
            tables.find(b"vfork", |symbol, _| {
                let address = base.wrapping_add(symbol.value);
                let is_vfork = is_function(symbol, base, address);
                REAL.store(if is_vfork { address } else { 0 }, Relaxed);
                is_vfork
            });
        }
    });
}

/// What this library exports for libc's vfork.
pub fn entry_for(found: usize) -> Option<usize> {
    let ours = OURS.load(Relaxed);
    (ours != 0 && found != 0 && sys::libc::vfork().is_some_and(|at| at as usize == found)).then_some(ours)
}
