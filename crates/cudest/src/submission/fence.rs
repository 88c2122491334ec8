//! Fences: the only notion of completion. A timeline is a word in pinned memory that only grows; a fence is a value of
//! one timeline, reached when the word has reached it.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A point in the work of the GPU, or of the host. Each operation gives one.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// let context = cutap_cudest::Gpu::new(0).context()?;
/// let fence = context.stream()?.fence()?;
/// context.wait(fence, None)?;
/// assert!(context.reached(fence)?);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    pub(crate) timeline: u32,
    pub(crate) value: u64,
}

impl Fence {
    /// The fence with these numbers, which another one of the context had.
    #[must_use]
    pub fn of(timeline: u32, value: u64) -> Self {
        Self { timeline, value }
    }

    /// The number of its timeline.
    #[must_use]
    pub fn timeline(self) -> u32 {
        self.timeline
    }

    /// Its value on the timeline.
    #[must_use]
    pub fn value(self) -> u64 {
        self.value
    }
}

/// A word that the GPU writes, and the highest value that it will have.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub number: u32,
    word: NonNull<AtomicU32>,
    /// The GPU's address of the word.
    pub address: u64,
    submitted: AtomicU64,
}

// SAFETY: the word is in memory that the context keeps as long as its timelines, and is only used atomically.
unsafe impl Send for Timeline {}
// SAFETY: as above.
unsafe impl Sync for Timeline {}

impl Timeline {
    /// # Safety
    /// `word` is aligned, and lives as long as this.
    pub unsafe fn new(number: u32, word: NonNull<AtomicU32>, address: u64) -> Self {
        Self { number, word, address, submitted: AtomicU64::new(0) }
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: `new` says that it lives; the GPU writes whole words.
        unsafe { self.word.as_ref() }
    }

    pub fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// The next value is on its way. Called with the lane locked.
    pub fn advance(&self, value: u64) {
        self.submitted.store(value, Ordering::Release);
    }

    /// The highest value that is reached. The word has 32 bits of it and is never 2^32 behind.
    #[inline]
    pub fn completed(&self) -> u64 {
        let low = self.word().load(Ordering::Acquire);
        let submitted = self.submitted();
        submitted.wrapping_sub(u64::from((submitted as u32).wrapping_sub(low)))
    }

    #[inline]
    pub fn reached(&self, value: u64) -> bool {
        self.completed() >= value
    }

    /// The host reaches a value.
    pub fn signal(&self, value: u64) {
        self.word().store(value as u32, Ordering::Release);
    }

    pub fn fence(&self, value: u64) -> Fence {
        Fence { timeline: self.number, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_32_bits() {
        let word = AtomicU32::new(0);
        // SAFETY: the word outlives the timeline.
        let timeline = unsafe { Timeline::new(0, NonNull::from(&word), 0) };
        timeline.advance(3);
        assert_eq!((timeline.completed(), timeline.reached(1)), (0, false));
        timeline.signal(2);
        assert!(timeline.reached(2) && !timeline.reached(3));
        timeline.advance((1 << 32) + 5);
        timeline.signal((1 << 32) - 1);
        assert_eq!(timeline.completed(), (1 << 32) - 1);
        timeline.signal((1 << 32) + 5);
        assert_eq!(timeline.completed(), (1 << 32) + 5);
    }
}
