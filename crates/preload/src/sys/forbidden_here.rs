//! System calls that are forbidden to one thread alone: a child by vfork that installed a seccomp filter. Its memory is
//! its parent's, which has no such filter, so the set is in the thread's own words. The parent's side of vfork clears
//! them (`arch::vfork`).

use super::arch::{self, FORBIDDEN_WORDS};
use core::sync::atomic::AtomicU64;

/// Words of a set.
pub const WORDS: usize = 5;

/// The thread's words.
#[repr(C)]
pub struct Here {
    /// Not zero: there is such a set.
    pub any: AtomicU64,
    pub calls: [AtomicU64; WORDS],
}

const _: () = assert!(size_of::<Here>() == 8 * FORBIDDEN_WORDS);

/// This thread's.
#[inline(always)]
pub fn thread_words<'a>() -> &'a Here {
    // SAFETY: this thread's own words, of that size.
    unsafe { &*arch::forbidden_here().cast() }
}
