//! The lock of what is known of memory and channels. It is held while the rings are read, or a mapping is forgotten
//! before it goes; never while code of the program or of the driver runs. Signals are blocked meanwhile: a handler of
//! this thread would wait for itself.

use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering::*};

static HOLDER: AtomicU32 = AtomicU32::new(0);

/// Runs `then` alone.
pub fn alone<R>(then: impl FnOnce() -> R) -> R {
    let signals = sys::block_signals();
    let me = sys::gettid();
    while !sys::take(&HOLDER, me) {
        sys::yield_now();
    }
    let result = then();
    HOLDER.store(0, Release);
    sys::restore_signals(signals);
    result
}

/// A forked child: the holder was a thread of its parent.
pub fn forked() {
    HOLDER.store(0, Release);
}
