//! Who owns a ring: a robust mutex in its head, which the kernel marks when its thread dies. A child by vfork has no
//! such mutex: its parent marks the ring when vfork returns there.

use super::thread_state::ThreadState;
use crate::loader::real::libcs_mutex;
use crate::sys::{self, allowed, mappings};
use core::sync::atomic::Ordering::*;
use cutap_wire::PAGE;
use cutap_wire::ring::{OWNER_DIED, OWNER_TID};

/// Makes this thread the owner: a robust mutex, which the kernel marks when the thread dies.
pub fn own(thread_state: &mut ThreadState, tid: u32) {
    use crate::sys::libc::*;
    let mut attributes = [0u64; 8];
    let a = attributes.as_mut_ptr().cast();
    // SAFETY: the header is mapped; the mutex lies in it and was held by nobody alive.
    unsafe {
        let header = &*thread_state.header;
        header.tid.store(tid, Relaxed);
        header.owner.word.store(0, Relaxed);
        let m = (&raw const header.owner).cast_mut().cast();
        let is_locked = match (mutexattr_init(), mutexattr_setrobust(), mutexattr_setpshared(), libcs_mutex()) {
            (Some(init), Some(robust), Some(shared), Some((make, lock))) => {
                init(a) == 0 && robust(a, 1) == 0 && shared(a, 1) == 0 && make(m, a) == 0 && lock(m) == 0
            }
            _ => false,
        };
        let libcs = header.owner.word.load(Relaxed);
        if is_locked && !allowed::may_tell_thread() {
            header.tid.store(libcs & OWNER_TID, Relaxed);
        } else if is_locked && libcs != tid {
            // libc believes a child by a raw clone to be the thread that it is a copy of; the kernel does not.
            header.owner.word.store(tid, Release);
        }
        if !is_locked {
            // Never seen as dead: its ring is not used again.
            header.owner.word.store(tid, Release);
        }
    }
}

/// The same for a child by vfork: libc's list of what a thread holds is its parent's, and says nothing of the child's
/// end. Whoever comes back from vfork says it.
pub fn own_without_lock(thread_state: &mut ThreadState, tid: u32) {
    // SAFETY: the header is mapped.
    let header = unsafe { &*thread_state.header };
    header.tid.store(tid, Relaxed);
    header.owner.word.store(tid, Release);
}

/// The child of a thread state has ended: its ring is marked, as the kernel marks others, and its memory is given back.
///
/// # Safety
/// The child's state, which nobody uses any more.
pub unsafe fn release_dead(pointer: *mut ThreadState) {
    // SAFETY: the caller's promise: all of these are mappings that this thread state alone knows.
    unsafe {
        let thread_state = &mut *pointer;
        let header = &*thread_state.header;
        header.owner.word.fetch_or(OWNER_DIED, Release);
        for (_, chunk) in thread_state.mapped.into_iter().filter(|m| m.0 != 0 && !m.1.is_null()) {
            sys::unmap(chunk, header.chunk_bytes as usize);
        }
        // The first page is in the mapping of the first chunk, if there is one.
        mappings::give_back((thread_state.mapped.iter().filter(|m| m.0 != 0).count() as u32).max(1));
        thread_state.counts.give_back();
        sys::unmap(thread_state.vfork_page.cast(), PAGE);
        sys::unmap(thread_state.header.cast(), PAGE);
        sys::unmap(pointer.cast(), size_of::<ThreadState>());
    }
}
