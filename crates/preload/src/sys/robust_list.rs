//! The list by which the kernel finds what a dying thread held, so that its ring is marked whatever ends it. libc
//! registers it for each thread and each forked child; a child that was made without libc (a raw clone) has none, and a
//! reader would take its ring for a living thread's until exit. So the child gets it here, as libc's fork would have
//! done it.
//!
//! Must never touch a list that the kernel knows: that is libc's.

use super::arch::thread_pointer;
use crate::sys;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Where a thread's list lies behind its thread pointer: the same in each thread. 0: not known.
static BEHIND: AtomicUsize = AtomicUsize::new(0);

/// Looks where libc has its list, in the thread that starts the process.
pub fn start() {
    let list = sys::robust_list();
    if list != 0 {
        BEHIND.store(list.wrapping_sub(thread_pointer()), Relaxed);
    }
}

/// A child that has one thread.
pub fn forked() {
    let (list_offset, thread) = (BEHIND.load(Relaxed), thread_pointer());
    // libc's thread block has its own address at two places; one that somebody else made may not be touched.
    // SAFETY: the thread pointer leads to its block, of which the ABI promises the first word and libc more.
    let libcs = unsafe { *((thread + SELF) as *const usize) } == thread;
    if list_offset == 0 || !libcs || sys::robust_list() != 0 {
        return;
    }
    let list = thread.wrapping_add(list_offset);
    // What the parent's thread holds is not this one's. An empty list leads to itself.
    // SAFETY: libc's list of this thread, where libc has it, which no other thread reads: the kernel does not know it.
    unsafe {
        *(list as *mut usize) = list;
        sys::set_robust_list(list);
    }
}

/// The second place of a thread block's own address.
const SELF: usize = 16;
