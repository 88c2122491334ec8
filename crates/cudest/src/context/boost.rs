//! The request for boost clocks. It takes 0.7 to 1.2 ms on an H200, a tenth of the time to a first result. So it is
//! made with the first work that lasts: many operations, a large copy, a long wait. Short programs end before.

use crate::context::shared::Shared;
use crate::kernel_driver::controls;
use crate::submission::fence::Timeline;
use crate::submission::lane::Operation;
use std::sync::atomic::Ordering;

/// Operations of a lane, and bytes of a copy.
const OPERATIONS: u64 = 16;
const BYTES: u64 = 1 << 20;

impl Shared {
    /// Asks once, if an operation is the first that lasts.
    #[inline]
    pub fn boost_for(&self, timeline: &Timeline, operation: &Operation<'_>) {
        if self.boost.load(Ordering::Relaxed) {
            let large = match operation {
                Operation::Copy { lines, .. } => u64::from(lines.length) * u64::from(lines.count) >= BYTES,
                _ => false,
            };
            if large || timeline.submitted() >= OPERATIONS {
                self.boost();
            }
        }
    }

    /// Asks, if it was not asked before.
    #[cold]
    pub fn boost(&self) {
        if self.boost.swap(false, Ordering::AcqRel) {
            // To the highest clocks as long as the client lives; without it only slower.
            const MAXIMUM: u64 = 0x12;
            let fields = [("flags", MAXIMUM), ("duration", u64::from(u32::MAX))];
            let _ = self.link.query(controls::BOOST, &fields);
        }
    }
}
