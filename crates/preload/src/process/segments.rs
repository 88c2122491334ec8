//! Where the names stream lies in this process's memory: in segments, which are mapped when they are needed and never
//! move, for texts in them are pointed to. Each covers a fixed part of the stream, so that parent and child agree on
//! them. A segment is mapped closed, and opened as its file grows: whoever reads all that a process has mapped would
//! meet a SIGBUS behind the end of the file.
//!
//! A store is one stream: that of the file, or that of a process which can make no file.

use crate::sys;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use cutap_wire::names::{CELL, FIXED, GROW, MAX_BYTES};

/// Bytes of the first segment. Each further one is as long as all before it, up to `LONGEST`.
const FIRST: usize = 1 << 20;
const LONGEST: usize = 16 << 20;
const DOUBLED: usize = (LONGEST / FIRST).ilog2() as usize;
/// Segments of the longest stream.
pub const SEGMENTS: usize = 1 + DOUBLED + (MAX_BYTES - LONGEST) / LONGEST;

// The longest name is shorter than a segment.
const _: () = assert!(FIXED + 2 * 0xffff + CELL < FIRST);

/// A part of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub n: usize,
    /// Where it begins.
    pub start: usize,
    /// Its length.
    pub bytes: usize,
}

/// The segment that a place of the stream lies in.
pub const fn segment(offset: usize) -> Segment {
    match offset / FIRST {
        0 => Segment { n: 0, start: 0, bytes: FIRST },
        part if offset < LONGEST => {
            let double = part.ilog2() as usize;
            Segment { n: 1 + double, start: FIRST << double, bytes: FIRST << double }
        }
        _ => {
            let further = offset / LONGEST;
            Segment { n: DOUBLED + further, start: further * LONGEST, bytes: LONGEST }
        }
    }
}

/// The segments of the first so many bytes, each with how much of it they take.
pub fn parts(bytes: usize) -> impl Iterator<Item = (Segment, usize)> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let part = (at < bytes).then(|| segment(at))?;
        at = part.start + part.bytes;
        Some((part, part.bytes.min(bytes - part.start)))
    })
}

/// Addresses of segments; null: not mapped.
pub struct Addresses([AtomicPtr<u8>; SEGMENTS]);

impl Addresses {
    /// None is mapped.
    pub const fn none() -> Addresses {
        Addresses([const { AtomicPtr::new(core::ptr::null_mut()) }; SEGMENTS])
    }
    /// Where a place of the stream is, if its segment is mapped.
    pub fn at(&self, offset: usize) -> Option<*mut u8> {
        let part = segment(offset);
        let at = self.0.get(part.n)?.load(Acquire);
        // SAFETY: the segment is mapped with all its bytes.
        (!at.is_null()).then(|| unsafe { at.add(offset - part.start) })
    }
    /// Takes those of another, which has none then.
    pub fn take_from(&self, other: &Addresses) {
        for (to, from) in self.0.iter().zip(&other.0) {
            to.store(from.swap(core::ptr::null_mut(), AcqRel), Release);
        }
    }
}

/// One stream.
pub struct Store {
    addresses: Addresses,
    /// Bytes that may be used: in the file, mapped and open.
    open: AtomicUsize,
}

impl Store {
    /// Nothing yet.
    pub(super) const fn new() -> Store {
        Store { addresses: Addresses::none(), open: AtomicUsize::new(0) }
    }
    /// Bytes that may be used.
    pub fn open(&self) -> usize {
        self.open.load(Acquire)
    }
    /// See [`Addresses::at`].
    pub fn at(&self, offset: usize) -> Option<*mut u8> {
        self.addresses.at(offset)
    }
    /// Makes the first so many bytes usable, in segments from `map`, which is given where one begins, and its length.
    /// Threads may do the same at the same time.
    pub fn reach(&self, bytes: usize, map: impl Fn(usize, usize) -> *mut u8) -> bool {
        // All before is open.
        let first = segment(self.open()).n;
        for (part, used) in parts(bytes).filter(|(part, _)| part.n >= first) {
            let Some(place) = self.addresses.0.get(part.n) else { return false };
            let mut at = place.load(Acquire);
            if at.is_null() {
                let fresh = map(part.start, part.bytes);
                if fresh.is_null() {
                    return false;
                }
                at = match place.compare_exchange(core::ptr::null_mut(), fresh, AcqRel, Acquire) {
                    Ok(_) => fresh,
                    Err(other) => {
                        // SAFETY: just mapped, and no other thread knows of it.
                        unsafe { sys::unmap(fresh, part.bytes) };
                        other
                    }
                };
            }
            if !sys::opened(at, used) {
                return false;
            }
        }
        self.open.fetch_max(bytes, AcqRel);
        true
    }
    /// A forked child: what is mapped here is its parent's.
    pub fn leave_to(&self, parent: &Addresses) {
        parent.take_from(&self.addresses);
        self.open.store(0, Release);
    }
    /// The same, of which the child needs nothing.
    pub fn forget(&self) {
        self.leave_to(&Addresses::none());
    }
}

/// What is made usable so that a name may end at `end`: more than it needs, for there may be no descriptor when there
/// is no room any more.
pub fn ahead_of(end: usize) -> usize {
    (end + GROW / 2).next_multiple_of(GROW).min(MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_the_stream_once() {
        let (mut end, mut n) = (0, 0);
        for (part, used) in parts(MAX_BYTES) {
            assert_eq!((part.n, part.start, used), (n, end, part.bytes));
            for offset in [part.start, part.start + CELL, part.start + part.bytes - CELL] {
                assert_eq!(segment(offset), part);
            }
            // At most so much more address space than names.
            assert!(part.bytes <= part.start.clamp(FIRST, LONGEST));
            (end, n) = (part.start + part.bytes, n + 1);
        }
        assert_eq!((end, n), (MAX_BYTES, SEGMENTS));
    }

    #[test]
    fn a_store_is_mapped_and_opened_as_far_as_it_is_reached() {
        let store = Store::new();
        let map = |_, bytes| sys::closed_pages(bytes);
        assert!(store.at(0).is_none() && store.open() == 0);
        assert!(store.reach(GROW, map) && store.open() == GROW);
        let first = store.at(0).unwrap();
        assert!(store.at(FIRST).is_none(), "mapped when it is needed");
        assert!(store.reach(3 * FIRST, map));
        assert_eq!(store.at(0), Some(first), "it never moves");
        for offset in [0, FIRST - CELL, FIRST, 2 * FIRST, 3 * FIRST - CELL] {
            // SAFETY: mapped and open.
            unsafe { store.at(offset).unwrap().write_bytes(1, CELL) };
        }
        assert!(!store.reach(5 * FIRST, |_, _| core::ptr::null_mut()), "no room");
        assert_eq!(store.open(), 3 * FIRST);
        assert!(store.reach(4 * FIRST, |_, _| core::ptr::null_mut()), "mapped already");
    }
}
