//! Memory that a child by vfork has mapped for its exec. It is the parent's memory too, and no longer needed once the
//! child runs another program. The parent gives it back then.

use crate::sys;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

struct Mapping {
    /// The child; 0: free.
    child: AtomicU32,
    at: AtomicUsize,
    bytes: AtomicUsize,
}

static MAPPINGS: [Mapping; 32] =
    [const { Mapping { child: AtomicU32::new(0), at: AtomicUsize::new(0), bytes: AtomicUsize::new(0) } }; 32];

/// The child has it. More than there is room for stays mapped.
pub fn add(child: u32, at: *mut u8, bytes: usize) {
    for mapping in &MAPPINGS {
        if mapping.at.compare_exchange(0, at as usize, AcqRel, Relaxed).is_ok() {
            mapping.bytes.store(bytes, Relaxed);
            mapping.child.store(child, Release);
            return;
        }
    }
}

/// The child has failed to run the program: it gives the memory back itself.
pub fn remove(at: *mut u8) {
    for mapping in MAPPINGS.iter().filter(|mapping| mapping.at.load(Relaxed) == at as usize) {
        mapping.child.store(0, Relaxed);
        mapping.at.store(0, Release);
    }
}

/// The child runs another program, or has ended.
pub fn unmap_of_child(child: u32) {
    for mapping in MAPPINGS.iter().filter(|mapping| mapping.child.load(Acquire) == child && child != 0) {
        let (at, bytes) = (mapping.at.load(Relaxed) as *mut u8, mapping.bytes.load(Relaxed));
        remove(at);
        // SAFETY: the child has mapped it, and does not use it any more.
        unsafe { sys::unmap(at, bytes) };
    }
}
