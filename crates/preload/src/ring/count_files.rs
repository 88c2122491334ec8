//! The mapped files in which a thread counts: see `counts`.

use crate::sys;
use cutap_wire::counts::{ENTRIES, HEAD};

/// A thread's numbers: those of thunks, those of runtime functions.
#[repr(C)]
pub struct Counts {
    pub(super) at: [*mut u8; 2],
    /// How many of runtime functions have room, here too: reports look at each call.
    pub(super) room_for_reported: u32,
}
/// Bytes of the mapping of a file.
pub(super) const MAPPED: usize = HEAD + ENTRIES as usize * 8;

impl Counts {
    /// Of a thread of a forked child's parent: its files are no longer mapped, and whose word leads there still finds
    /// no numbers.
    pub fn unmap_parents(&mut self) {
        self.room_for_reported = 0;
        for at in core::mem::replace(&mut self.at, [core::ptr::null_mut(); 2]).into_iter().filter(|at| !at.is_null()) {
            let nothing = sys::pages(MAPPED);
            if !nothing.is_null() {
                // SAFETY: a mapping of this length; the child has none of its numbers.
                unsafe { sys::move_over(nothing, at, MAPPED) };
            }
        }
    }
    /// Of a thread state that has ended.
    ///
    /// # Safety
    /// Nobody counts in it any more.
    pub unsafe fn give_back(&mut self) {
        for at in self.at.into_iter().filter(|at| !at.is_null()) {
            // SAFETY: the caller's promise.
            unsafe { sys::unmap(at, MAPPED) };
        }
    }
}
