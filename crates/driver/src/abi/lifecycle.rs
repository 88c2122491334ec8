//! Whether the driver has started in this process. Before cuInit, and in a child that was forked after cuInit, every
//! function fails with NOT_INITIALIZED before it takes a lock. So a child never waits for a lock that was taken at
//! the fork.

use super::fault::{Answer, Fault};
use cutap_machine::generation;
use std::sync::atomic::{AtomicU32, Ordering};

/// The generation of the process that has started the driver; 0 for none.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

pub fn require_started() -> Answer {
    match STARTED_BY.load(Ordering::Acquire) {
        0 => Err(Fault::NOT_INITIALIZED),
        starter if starter == generation() => Ok(()),
        _ => Err(Fault::NOT_INITIALIZED),
    }
}

/// Whether neither this process nor one that it was forked from has started the driver.
pub fn is_new() -> bool {
    STARTED_BY.load(Ordering::Acquire) == 0
}

/// cuInit, which programs may call any number of times, from any thread.
pub fn start() -> Answer {
    let _ = STARTED_BY.compare_exchange(0, generation(), Ordering::AcqRel, Ordering::Acquire);
    require_started()
}
