//! A forked child is a process of its own. A word in a page that fork wipes reads 0 there, also after
//! a raw clone, and keeps its value in a vfork child, which may share its parent's ring.

use crate::{loader, routes, start, sys, thread};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// The word; the gates look at it too.
#[unsafe(no_mangle)]
static CUTAP_FORK: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
/// Processes since start: a thread block of another generation is the parent's.
static GENERATION: AtomicU32 = AtomicU32::new(1);

const WIPED: u32 = 0;
const HERE: u32 = 1;
const CHANGING: u32 = 2;

/// Id of this process, or of the one that it shares its memory with.
static PID: AtomicU32 = AtomicU32::new(0);

/// See `PID`.
#[inline(always)]
pub fn pid() -> u32 {
    PID.load(Relaxed)
}

/// Makes the page.
pub fn start() {
    PID.store(sys::getpid(), Relaxed);
    let page = sys::pages(4096);
    if page.is_null() || !sys::wipe_on_fork(page, 4096) {
        return;
    }
    // SAFETY: a fresh page.
    unsafe { (*page.cast::<AtomicU32>()).store(HERE, Relaxed) };
    CUTAP_FORK.store(page.cast(), Release);
}

/// Number of this process since start, from 1.
#[inline(always)]
pub fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Notices that this is a child of the process that started. One load a call.
#[inline(always)]
pub fn check() {
    let word = CUTAP_FORK.load(Relaxed);
    // SAFETY: null or the page.
    if !word.is_null() && unsafe { (*word).load(Relaxed) } != HERE {
        forked(word);
    }
}

#[cold]
fn forked(word: *mut AtomicU32) {
    // SAFETY: the page.
    let word = unsafe { &*word };
    match word.compare_exchange(WIPED, CHANGING, AcqRel, Acquire) {
        Ok(_) => {
            // A handler that left by siglongjmp would leave it half changed.
            let signals = sys::block_signals();
            GENERATION.fetch_add(1, AcqRel);
            PID.store(sys::getpid(), Relaxed);
            thread::block::forked();
            start::forked();
            loader::notice::forked();
            routes::instances::forked();
            crate::hook::thread::forked();
            word.store(HERE, Release);
            sys::restore_signals(signals);
        }
        Err(_) => {
            // Another thread of the child is at it. A signal handler inside it would wait for itself:
            // after a while it goes on, and its call is the parent's block's problem to refuse.
            for _ in 0..1000 {
                if word.load(Acquire) == HERE {
                    return;
                }
                sys::yield_now();
            }
        }
    }
}
