//! How much of a recording was read: for progress bars. A process reads one recording at a time.

use std::sync::atomic::{AtomicU64, Ordering};

static CHUNKS: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU64 = AtomicU64::new(0);

/// A recording of so many chunks was opened, and none was read.
pub fn opened(chunks: u64) {
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
