//! Whether the loader's list may be asked for in a forked child. glibc makes its other loader locks new
//! in a child, but not the one around the list of objects: a child that was forked while any thread
//! opened, closed or listed hangs when it asks. So the lock is found, once and by looking only: the one
//! recursive mutex in ld.so's data that is this thread's inside a list call and free behind it.

use crate::sys;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

pub(super) static AT: AtomicUsize = AtomicUsize::new(0);

/// Offsets in a pthread_mutex_t, which are the same on all 64-bit processors, and the kind of a recursive one.
pub(super) const OWNER: usize = 8;
pub(super) const KIND: usize = 16;
pub(super) const RECURSIVE: u32 = 1;
pub(super) const MUTEX: usize = sys::arch::MUTEX_BYTES;

pub(super) fn word(at: usize) -> u32 {
    // SAFETY: within ld.so's data object, as its own symbol table says; other threads write it.
    unsafe { (*(at as *const AtomicU32)).load(Relaxed) }
}

/// In a forked child: was the lock taken when the child was made? `None`: the lock was not found.
pub fn was_taken() -> Option<bool> {
    match AT.load(Acquire) {
        0 => None,
        at => Some(word(at) != 0),
    }
}

/// Where the loader counts the objects that it ever added.
static ADDS: AtomicUsize = AtomicUsize::new(0);

/// Says what the count is, inside no list call: it lies behind the list's lock, in newer versions with one lock in
/// between.
pub fn found_adds(adds: u64) {
    let at = AT.load(Acquire);
    if at == 0 || ADDS.load(Relaxed) != 0 {
        return;
    }
    let mut places = [at + MUTEX, at + 2 * MUTEX].into_iter().filter(|&at| count(at) == adds);
    if let (Some(counter_at), None) = (places.next(), places.next()) {
        ADDS.store(counter_at, Release);
    }
}

/// Objects that the loader ever added; `None`: its count was not found.
pub fn adds() -> Option<u64> {
    Some(ADDS.load(Acquire)).filter(|&at| at != 0).map(count)
}

/// Where the loader counts the objects that are there now, of the first namespace: in the second word of its data,
/// behind the address of the first one.
static LOADED: AtomicUsize = AtomicUsize::new(0);
pub(super) const LOADED_OFFSET: usize = 8;

/// Says what is there, in a list call.
pub(super) fn found_loaded(at: usize, loaded: u64) {
    if u64::from(word(at)) == loaded {
        LOADED.store(at, Release);
    }
}

/// A number that is another one after something was loaded or unloaded; `None`: the loader's counts were not found.
#[inline(always)]
pub fn changes() -> Option<u64> {
    let (adds, loaded) = (ADDS.load(Acquire), LOADED.load(Acquire));
    (adds != 0 && loaded != 0).then(|| count(adds) << 32 | u64::from(word(loaded)))
}

/// This thread holds the list's lock: a signal handler has come in the middle of the loader's work.
pub fn is_mine() -> bool {
    let at = AT.load(Acquire);
    at != 0 && word(at) != 0 && word(at + OWNER) == sys::gettid()
}

fn count(at: usize) -> u64 {
    u64::from(word(at)) | u64::from(word(at + 4)) << 32
}

/// Whether the loader's other lock, which dlsym takes and lazy binding does not, can be had now. It lies
/// right in front of the list's. A constructor may hold it and wait for the very thread that asks, so
/// nobody waits long.
pub fn may_ask() -> bool {
    let Some(at) = AT.load(Acquire).checked_sub(MUTEX).filter(|&at| at != 0) else { return true };
    let me = sys::gettid();
    for _ in 0..50 {
        if word(at + KIND) != RECURSIVE || word(at) == 0 || word(at + OWNER) == me {
            return true;
        }
        sys::sleep_us(1000);
    }
    false
}
