//! Bytes of arrays. Their real size is a secret of the driver: counted are the elements.

use crate::hook::Hooked;
use crate::{config, linear};
use cutap_wire::limited::{Head, Row};

struct Description {
    sides: [u64; 3],
    format: u32,
    channels: u32,
    flags: u32,
}

impl Description {
    fn flat(hooked: &Hooked, head: &Head) -> Option<Description> {
        let [width, height, format, channels] = head.places.array;
        let side = |place: u32| hooked.read::<u64>(1, place as usize);
        let word = |place: u32| hooked.read::<u32>(1, place as usize);
        let (format, channels) = (word(format)?, word(channels)?);
        Some(Description { sides: [side(width)?, side(height)?, 0], format, channels, flags: 0 })
    }

    fn of_three(hooked: &Hooked, head: &Head) -> Option<Description> {
        let [width, height, depth, format, channels, flags] = head.places.array3d;
        let side = |place: u32| hooked.read::<u64>(1, place as usize);
        let word = |place: u32| hooked.read::<u32>(1, place as usize);
        Some(Description {
            sides: [side(width)?, side(height)?, side(depth)?],
            format: word(format)?,
            channels: word(channels)?,
            flags: word(flags)?,
        })
    }

    fn bytes(&self, head: &Head, level: u32) -> u64 {
        if self.flags & head.numbers.no_memory != 0 {
            return 0;
        }
        let size = head.formats.get(self.format as usize).copied().unwrap_or(0);
        // The highest bit says that all channels are in it.
        let channels = if size & 128 == 0 { u64::from(self.channels) } else { 1 };
        let element = u64::from(size & 127).max(1).saturating_mul(channels);
        let side = |side: u64| (side >> level.min(63)).max(1);
        self.sides.iter().fold(element, |bytes, of| bytes.saturating_mul(side(*of)))
    }
}

/// Before a call that makes an array.
pub fn before_flat(hooked: &Hooked, row: &Row) {
    let description = config::head().and_then(|head| Some((head, Description::flat(hooked, head)?)));
    if let Some((head, description)) = description {
        linear::before_allocation(hooked, row, description.bytes(head, 0));
    }
}

/// The same with three sides, and with smaller arrays of it.
pub fn before_levels(hooked: &Hooked, row: &Row, levels: u32) {
    let description = config::head().and_then(|head| Some((head, Description::of_three(hooked, head)?)));
    if let Some((head, description)) = description {
        let longest = description.sides.iter().copied().max().unwrap_or(1).max(1);
        let levels = levels.clamp(1, longest.ilog2() + 1);
        let bytes = (0..levels).fold(0_u64, |sum, level| sum.saturating_add(description.bytes(head, level)));
        linear::before_allocation(hooked, row, bytes);
    }
}
