//! A table that grows: a part that is always there, and further parts, each of which has twice as many entries as the
//! one before. A part is memory of the process, taken when it is first needed, and never given back.

use crate::sys;
use core::sync::atomic::{AtomicPtr, Ordering::*};

/// Parts beside the first one.
const LATER: usize = 5;

/// What may lie in such a table.
///
/// # Safety
/// Bytes that are zero are a valid entry, which is not in use.
pub unsafe trait Entry: Sync + 'static {}

/// `FIRST`: entries of the first part.
pub struct GrowingTable<T: Entry, const FIRST: usize> {
    first: [T; FIRST],
    later: [AtomicPtr<T>; LATER],
}

impl<T: Entry, const FIRST: usize> GrowingTable<T, FIRST> {
    pub const fn new(first: [T; FIRST]) -> Self {
        GrowingTable { first, later: [const { AtomicPtr::new(core::ptr::null_mut()) }; LATER] }
    }

    /// A part; none if it was not needed yet.
    fn part(&'static self, n: usize) -> Option<&'static [T]> {
        if n == 0 {
            return Some(&self.first);
        }
        let at = self.later.get(n - 1)?.load(Acquire);
        // SAFETY: `part_or_new` put memory there for so many entries, which stays; see `Entry`.
        (!at.is_null()).then(|| unsafe { core::slice::from_raw_parts(at, FIRST << n) })
    }

    /// The parts that are there, from the first one.
    pub fn parts(&'static self) -> impl Iterator<Item = &'static [T]> {
        (0..=LATER).map_while(|n| self.part(n))
    }

    /// A part, which is made if it is not there. None: there are no more, or there is no memory.
    pub fn part_or_new(&'static self, n: usize) -> Option<&'static [T]> {
        if let Some(part) = self.part(n) {
            return Some(part);
        }
        let place = self.later.get(n.checked_sub(1)?)?;
        let bytes = (FIRST << n) * size_of::<T>();
        let memory = sys::pages(bytes);
        if memory.is_null() {
            return None;
        }
        if place.compare_exchange(core::ptr::null_mut(), memory.cast(), AcqRel, Acquire).is_err() {
            // SAFETY: another thread was faster, and nothing uses this.
            unsafe { sys::unmap(memory, bytes) };
        }
        self.part(n)
    }

    /// The part and the place in it of the entry with a number.
    fn place(number: usize) -> (usize, usize) {
        let part = (number / FIRST + 1).ilog2() as usize;
        (part, number - ((FIRST << part) - FIRST))
    }

    /// The entry with a number; none if its part is not there.
    pub fn get(&'static self, number: usize) -> Option<&'static T> {
        let (part, place) = Self::place(number);
        self.part(part)?.get(place)
    }

    /// The same; its part is made.
    pub fn get_or_new(&'static self, number: usize) -> Option<&'static T> {
        let (part, place) = Self::place(number);
        self.part_or_new(part)?.get(place)
    }
}
