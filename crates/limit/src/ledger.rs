//! What this process has, by address or handle: a table without a lock, in memory that a forked child finds empty.

use crate::config::own_memory;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// What a key is of. Keys of two kinds may be equal numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Space {
    Address = 1,
    /// Memory without an address.
    Physical = 2,
    /// Where such memory was put.
    Mapping = 3,
    Pool = 4,
    /// The memory of graphs of a device.
    GraphPool = 5,
    Graph = 6,
    /// A graph that can run.
    Executable = 7,
    Code = 8,
    /// Memory without an address and without a handle: it is mapped somewhere.
    Orphan = 9,
}

/// An entry. The key is not 0 while it is in use.
pub struct Entry {
    key: AtomicU64,
    /// Units of memory.
    pub units: AtomicU64,
    /// The device, as the process counts, or what else belongs to the kind.
    pub device: AtomicU64,
    /// The context, or what else belongs to the kind.
    pub context: AtomicU64,
}

/// 32 MiB of addresses, of which pages are used when entries are.
const ENTRIES: usize = 1 << 20;
/// How far from its place an entry may be.
const REACH: usize = 128;
/// The first entries are those of pools, which are visited often.
const POOLS: usize = 256;
/// The key of an entry that was removed.
const REMOVED: u64 = 1;

static TABLE: AtomicPtr<Entry> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the table.
pub fn begin() -> bool {
    let Some(at) = own_memory(ENTRIES * size_of::<Entry>()) else { return false };
    TABLE.store(at.cast(), Ordering::Release);
    true
}

fn key(space: Space, value: u64) -> u64 {
    (space as u64) << 56 | value & 0xff_ffff_ffff_ffff
}

fn table() -> &'static [Entry] {
    let at = TABLE.load(Ordering::Acquire);
    if at.is_null() {
        return &[];
    }
    // SAFETY: mapped whole; entries of zeros are free; it stays.
    unsafe { core::slice::from_raw_parts(at, ENTRIES) }
}

/// The entries in which a key may be.
fn places(key: u64) -> impl Iterator<Item = &'static Entry> {
    let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as usize;
    let is_pool = matches!(key >> 56, 4 | 5);
    let range = if is_pool { 0..POOLS } else { first..first + REACH };
    range.filter_map(move |n| table().get(if is_pool { n } else { POOLS + n % (ENTRIES - POOLS) }))
}

/// The entry of a key.
pub fn find(space: Space, value: u64) -> Option<&'static Entry> {
    let key = key(space, value);
    places(key).take_while(|entry| entry.key.load(Ordering::Acquire) != 0).find(|entry| entry.is(key))
}

/// Makes an entry. None if there is no room. No thread looks for it before the call has returned that made it.
pub fn insert(space: Space, value: u64, units: u64, device: u64, context: u64) -> Option<&'static Entry> {
    let key = key(space, value);
    let entry = places(key).find(|entry| {
        let now = entry.key.load(Ordering::Acquire);
        now <= REMOVED && entry.key.compare_exchange(now, key, Ordering::AcqRel, Ordering::Acquire).is_ok()
    })?;
    entry.units.store(units, Ordering::Release);
    entry.device.store(device, Ordering::Release);
    entry.context.store(context, Ordering::Release);
    Some(entry)
}

/// The entry of a key, which is made if there is none. Two threads may make two; the first one counts.
pub fn find_or_insert(space: Space, value: u64, device: u64) -> Option<&'static Entry> {
    find(space, value).or_else(|| insert(space, value, 0, device, 0).and_then(|_| find(space, value)))
}

/// All entries of a kind. This looks at the whole table, unless pools are asked for.
pub fn each(space: Space) -> impl Iterator<Item = &'static Entry> {
    let most = if matches!(space, Space::Pool | Space::GraphPool) { POOLS } else { ENTRIES };
    table().iter().take(most).filter(move |entry| entry.key.load(Ordering::Acquire) >> 56 == space as u64)
}

/// The entry at a place.
pub fn at_place(place: u64) -> Option<&'static Entry> {
    table().get(place as usize)
}

impl Entry {
    fn is(&self, key: u64) -> bool {
        self.key.load(Ordering::Acquire) == key
    }

    /// Whether it is of this kind.
    pub fn is_of(&self, space: Space) -> bool {
        self.key.load(Ordering::Acquire) >> 56 == space as u64
    }

    /// The number or address that it is of.
    pub fn value(&self) -> u64 {
        self.key.load(Ordering::Acquire) & 0xff_ffff_ffff_ffff
    }

    /// Removes it. False if another thread did.
    pub fn remove(&self) -> bool {
        let now = self.key.load(Ordering::Acquire);
        now > REMOVED && self.key.compare_exchange(now, REMOVED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives it another key. It is found at its place alone, not by the key.
    pub fn set_key(&self, space: Space, value: u64) {
        self.key.store(key(space, value), Ordering::Release);
    }

    /// The number of its place, by which [`at_place`] finds it.
    pub fn place(&self) -> u64 {
        let first = TABLE.load(Ordering::Acquire) as usize;
        ((core::ptr::from_ref(self) as usize).wrapping_sub(first) / size_of::<Entry>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go() {
        assert!(begin());
        for n in 0..5000_u64 {
            assert!(insert(Space::Address, 0x7f00_0000_0000 + n * 512, n, 0, 3).is_some());
        }
        assert!(find(Space::Graph, 0x7f00_0000_0000).is_none());
        for n in 0..5000_u64 {
            let entry = find(Space::Address, 0x7f00_0000_0000 + n * 512).unwrap();
            assert_eq!(entry.units.load(Ordering::Relaxed), n);
            assert!(entry.remove() && !entry.remove());
            assert!(find(Space::Address, 0x7f00_0000_0000 + n * 512).is_none());
        }
        let entry = insert(Space::Physical, 9, 1, 0, 0).unwrap();
        assert!(core::ptr::eq(at_place(entry.place()).unwrap(), entry));
        assert_eq!(each(Space::Physical).count(), 1);
        assert!(find_or_insert(Space::Pool, 5, 0).is_some() && find(Space::Pool, 5).is_some());
        assert_eq!(each(Space::Pool).count(), 1);
    }
}
