//! How much of the recordings that are read together was read: for progress bars.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Chunks of recordings, and how many of them were read. A run directory has no number of chunks.
#[derive(Debug, Default)]
pub struct ReadProgress {
    chunks: AtomicU64,
    read: AtomicU64,
}

impl ReadProgress {
    /// Recordings are read from the start, again perhaps.
    pub(crate) fn restart(&self) {
        self.chunks.store(0, Relaxed);
        self.read.store(0, Relaxed);
    }

    /// A recording of so many chunks is to be read.
    pub(crate) fn add_recording(&self, chunks: u64) {
        self.chunks.fetch_add(chunks, Relaxed);
    }

    /// Another chunk is read.
    pub(crate) fn chunk_read(&self) {
        self.read.fetch_add(1, Relaxed);
    }

    /// Hundredths that were read; none where the size is not known, as in a run directory.
    pub fn percent(&self) -> Option<u64> {
        let chunks = self.chunks.load(Relaxed);
        (chunks > 0).then(|| (self.read.load(Relaxed).min(chunks) * 100) / chunks)
    }
}
