//! A thread's own word that says whether it is a child by vfork, which has its parent's memory: see `vfork`.

use super::fork;
use crate::sys::{self, allowed, arch};

/// A child by vfork, and one that cannot have a ring.
#[cfg(feature = "inject")]
pub const CHILD: usize = 1;
const WITHOUT: usize = 2;

/// True in a child by vfork, which has its parent's memory. A system call: for what is done once.
pub fn is_child() -> bool {
    // SAFETY: this thread's own word. A child that such a child forked has it too, and memory of its own.
    unsafe { *arch::vforked() != 0 && (allowed::has_own_filter() || sys::getpid() != fork::pid()) }
}

/// True in such a child once it could not have a ring, or has installed a filter: it does not try again.
pub fn goes_without() -> bool {
    // SAFETY: this thread's own word.
    unsafe { *arch::vforked() == WITHOUT || allowed::has_own_filter() }
}

/// See `goes_without`. The parent finds its own word again.
pub fn go_without() {
    // SAFETY: as above.
    unsafe { *arch::vforked() = WITHOUT };
}
