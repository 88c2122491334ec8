//! Whether NVML has started in this process. Calls of nvmlInit are counted, and the last nvmlShutdown ends it. A
//! forked child has not started.

use crate::fault::{Answer, Fault};
use cutap_machine::generation;
use std::sync::atomic::{AtomicU64, Ordering};

/// The generation of the process in the upper half, and its number of starts in the lower half.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The number of starts of this process.
fn count(word: u64) -> u32 {
    if (word >> 32) as u32 == generation() { word as u32 } else { 0 }
}

fn change(by: impl Fn(u32) -> Option<u32>) -> Answer {
    let next = |word| Some(u64::from(generation()) << 32 | u64::from(by(count(word))?));
    let updated = STARTED.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    updated.map(drop).map_err(|_| Fault::UNINITIALIZED)
}

pub fn start() {
    let _ = change(|n| n.checked_add(1));
}

pub fn end() -> Answer {
    change(|n| n.checked_sub(1))
}

pub fn require_started() -> Answer {
    if count(STARTED.load(Ordering::Acquire)) > 0 { Ok(()) } else { Err(Fault::UNINITIALIZED) }
}
