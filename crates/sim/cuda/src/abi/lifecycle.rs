//! Whether the driver has started in this process. Before cuInit, and in a child that was forked after cuInit, every
//! function fails with NOT_INITIALIZED before it takes a lock. So a child never waits for a lock that was taken at
//! the fork.

use super::fault::{Answer, Fault};
use std::sync::atomic::{AtomicU8, Ordering};

const NEW: u8 = 0;
const STARTED: u8 = 1;
const FORKED: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(NEW);

pub fn require_started() -> Answer {
    match STATE.load(Ordering::Acquire) {
        STARTED => Ok(()),
        _ => Err(Fault::NOT_INITIALIZED),
    }
}

/// cuInit, which programs may call any number of times, from any thread.
pub fn start() -> Answer {
    match STATE.load(Ordering::Acquire) {
        STARTED => Ok(()),
        FORKED => Err(Fault::NOT_INITIALIZED),
        _ => {
            // SAFETY: the handler is a function of this library; glibc removes it when the library is closed.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            let _ = STATE.compare_exchange(NEW, STARTED, Ordering::AcqRel, Ordering::Acquire);
            require_started()
        }
    }
}

extern "C" fn in_child() {
    if STATE.load(Ordering::Acquire) == STARTED {
        STATE.store(FORKED, Ordering::Release);
    }
}
