//! Started or not. Before cuInit, and in a child forked after cuInit, every function answers NOT_INITIALIZED
//! before it touches a lock: so a lock that fork copied in a taken state is never waited for.

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

/// cuInit: any number of times, from any thread.
pub fn start() -> Answer {
    match STATE.load(Ordering::Acquire) {
        STARTED => Ok(()),
        FORKED => Err(Fault::NOT_INITIALIZED),
        _ => {
            // SAFETY: the handler is a function of this library; glibc forgets it when the library is closed.
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
