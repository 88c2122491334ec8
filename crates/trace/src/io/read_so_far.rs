//! How much of a recording was read: for progress bars. A process reads one recording at a time, or several together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static CHUNKS: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU64 = AtomicU64::new(0);
static TOGETHER: AtomicBool = AtomicBool::new(false);

/// Recordings that are opened from now on are read together, or, if not `several`, one after the other.
pub fn read_together(several: bool) {
    TOGETHER.store(several, Ordering::Relaxed);
    READ.store(0, Ordering::Relaxed);
    CHUNKS.store(0, Ordering::Relaxed);
}

/// A recording of so many chunks was opened, and none was read.
pub fn opened(chunks: u64) {
    if TOGETHER.load(Ordering::Relaxed) {
        CHUNKS.fetch_add(chunks, Ordering::Relaxed);
        return;
    }
    READ.store(0, Ordering::Relaxed);
    CHUNKS.store(chunks, Ordering::Relaxed);
}

/// Another chunk is read.
pub fn one_more() {
    READ.fetch_add(1, Ordering::Relaxed);
}

/// Hundredths of the recording that were read; none where its size is not known, as in a run directory.
pub fn read_so_far() -> Option<u64> {
    let chunks = CHUNKS.load(Ordering::Relaxed);
    (chunks > 0).then(|| (READ.load(Ordering::Relaxed).min(chunks) * 100) / chunks)
}
