//! The ranges of NVTX that are open in a thread, with the numbers of their records.

use core::sync::atomic::{Ordering::SeqCst, compiler_fence};

/// Ranges that are remembered; deeper ones are counted, and not recorded.
const MOST: usize = 64;
/// The range was not recorded.
const NONE: u32 = u32::MAX;

/// A range that is open.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OpenRange {
    domain: u32,
    /// The number of its record, or `NONE`.
    number: u32,
    is_captured: bool,
}

impl OpenRange {
    /// `is_captured`: calls are recorded while it is open, and not otherwise.
    pub fn new(domain: u32, number: Option<u32>, is_captured: bool) -> OpenRange {
        OpenRange { domain, number: number.unwrap_or(NONE), is_captured }
    }

    /// The number of its record, if it has one.
    pub fn number(&self) -> Option<u32> {
        Some(self.number).filter(|number| *number != NONE)
    }

    /// See `new`.
    pub fn is_captured(&self) -> bool {
        self.is_captured
    }
}

/// All zero is: none.
#[repr(C)]
pub struct OpenRanges {
    depth: usize,
    /// Ranges above those that are remembered. They are taken for innermost, whatever their domain.
    deeper: u32,
    all: [OpenRange; MOST],
}

impl OpenRanges {
    /// A thread begins without ranges.
    pub fn clear(&mut self) {
        (self.depth, self.deeper) = (0, 0);
    }

    /// Ranges of this domain that are open.
    pub fn level(&self, domain: u32) -> i32 {
        let open = self.all.iter().take(self.depth).filter(|range| range.domain == domain).count();
        open as i32 + self.deeper as i32
    }

    /// Whether one more is remembered.
    pub fn has_room(&self) -> bool {
        self.deeper == 0 && self.depth < MOST
    }

    /// A range begins; false if it is too deep to be remembered.
    pub fn push(&mut self, range: OpenRange) -> bool {
        match self.all.get_mut(self.depth).filter(|_| self.deeper == 0) {
            Some(place) => {
                // A signal handler's ranges come above it.
                self.depth += 1;
                compiler_fence(SeqCst);
                *place = range;
                true
            }
            None => {
                self.deeper = self.deeper.saturating_add(1);
                false
            }
        }
    }

    /// The innermost range of a domain ends. None: no range is open.
    pub fn pop(&mut self, domain: u32) -> Option<OpenRange> {
        if self.deeper > 0 {
            self.deeper -= 1;
            return Some(OpenRange::new(domain, None, false));
        }
        let place = self.all.iter().take(self.depth).rposition(|range| range.domain == domain)?;
        let range = *self.all.get(place)?;
        for n in place + 1..self.depth {
            let Some(next) = self.all.get(n).copied() else { break };
            if let Some(to) = self.all.get_mut(n - 1) {
                *to = next;
            }
        }
        self.depth -= 1;
        Some(range)
    }
}
