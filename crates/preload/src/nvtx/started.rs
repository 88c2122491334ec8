//! Ranges that were started and have not ended, with their names: the end of a range has only its id, and filters
//! choose by name. A range may end in another thread.

use super::growing_table::{Entry, GrowingTable};
use super::text::{LONGEST, Text};
use crate::process::path::Shared;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Ranges in the first part of the table. There are 63 times as many at most; the ends of others have no name.
const RANGES: usize = 1 << 6;
/// Places of each part at which an id is looked for.
const PROBES: usize = 16;
/// In place of an id: the place is free.
const FREE: u64 = 0;
/// A thread is at the place. NVTX gives no such id.
const BUSY: u64 = u64::MAX;

struct Started {
    id: AtomicU64,
    name: Shared<([u8; LONGEST], usize)>,
}

// SAFETY: a place of zeros is free.
unsafe impl Entry for Started {}

static ALL: GrowingTable<Started, RANGES> = GrowingTable::new(
    [const { Started { id: AtomicU64::new(FREE), name: Shared(UnsafeCell::new(([0; LONGEST], 0))) } }; RANGES],
);

/// The places of a part where an id may be.
fn places(part: &'static [Started], id: u64) -> impl Iterator<Item = &'static Started> {
    let first = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    (0..PROBES).filter_map(move |n| part.get((first + n) & (part.len() - 1)))
}

/// A range has started. Without room its end has no name.
pub fn remember(id: u64, text: &[u8]) {
    if id == FREE || id == BUSY {
        return;
    }
    let take = |place: &&Started| place.id.compare_exchange(FREE, BUSY, AcqRel, Relaxed).is_ok();
    let in_part = |part| places(part, id).find(take);
    if let Some(place) = (0..).map_while(|n| ALL.part_or_new(n)).find_map(in_part) {
        // SAFETY: this thread alone has the place.
        let (bytes, length) = unsafe { &mut *place.name.0.get() };
        bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        *length = text.len().min(LONGEST);
        place.id.store(id, Release);
    }
}

/// A range ends: its name, or nothing if it is not known.
pub fn forget(id: u64) -> Text {
    if id == FREE || id == BUSY {
        return Text::empty();
    }
    let take = |place: &&Started| place.id.compare_exchange(id, BUSY, AcqRel, Relaxed).is_ok();
    let Some(place) = ALL.parts().find_map(|part| places(part, id).find(take)) else { return Text::empty() };
    // SAFETY: this thread alone has the place.
    let (bytes, length) = unsafe { &*place.name.0.get() };
    let text = Text::of(bytes.get(..*length).unwrap_or(&[]));
    place.id.store(FREE, Release);
    text
}
