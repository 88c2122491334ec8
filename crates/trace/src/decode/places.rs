//! Allocations by address. Reserved ranges are kept apart: memory lies inside of them.

use super::value::Place;
use crate::event::Layer;
use crate::filter::Filter;
use cutap_calls::known::{Effect, Memory, Tables};
use std::collections::BTreeMap;

/// Allocations beyond this many are not followed.
const MOST: usize = 1 << 20;

/// The allocations of a process.
#[derive(Debug, Default)]
pub struct Places {
    memory: BTreeMap<u64, Allocation>,
    reserved: BTreeMap<u64, Allocation>,
    /// All calls of the process are recorded, so that memory nobody allocated is the host's.
    pub complete: bool,
}

#[derive(Debug, Clone, Copy)]
struct Allocation {
    /// 0: not known.
    bytes: u64,
    memory: Memory,
    device: Option<u32>,
}

impl Places {
    /// Memory at `address`, from now on; of unknown length when `bytes` is none.
    pub fn insert(&mut self, address: u64, bytes: Option<u64>, memory: Memory, device: Option<u32>) {
        // A layer that does not know the length adds nothing to one that did.
        if address == 0 || bytes == Some(0) || bytes.is_none() && self.at(address, None, false).is_some() {
            return;
        }
        let bytes = bytes.unwrap_or(0);
        let device = if memory == Memory::Device { device } else { None };
        let map = if memory == Memory::Reserved { &mut self.reserved } else { &mut self.memory };
        // What was there has ended unseen. A runtime reports what its driver call has reported before.
        let old: Vec<u64> = map.range(address..address.saturating_add(bytes.max(1))).map(|(at, _)| *at).collect();
        let before = old.first().and_then(|_| map.get(&address)).and_then(|a| a.device);
        for at in old {
            map.remove(&at);
        }
        if map.len() < MOST {
            map.insert(address, Allocation { bytes, memory, device: device.or(before) });
        }
    }

    /// The memory at `address` ends.
    pub fn remove(&mut self, address: u64) {
        if self.memory.remove(&address).is_none() {
            self.reserved.remove(&address);
        }
    }

    /// Where an address leads to; `meant` bytes of it are meant. With `guess`, memory that nobody
    /// allocated is the host's.
    pub fn at(&self, address: u64, meant: Option<u64>, guess: bool) -> Option<Place> {
        let within = |map: &BTreeMap<u64, Allocation>| {
            let (start, found) = map.range(..=address).next_back()?;
            let offset = address - start;
            (offset < found.bytes.max(1)).then_some((offset, *found))
        };
        let found = within(&self.memory).or_else(|| within(&self.reserved));
        let Some((offset, found)) = found else {
            let host = Place { memory: Memory::Host, device: None, offset: 0, bytes: None, size: 0 };
            return (guess && self.complete).then_some(host);
        };
        Some(Place { memory: found.memory, device: found.device, offset, bytes: meant, size: found.bytes })
    }
}

/// Whether the filter lets all calls of the driver through that allocate: then memory that nobody
/// allocated is the host's.
pub fn all_allocations(tables: &Tables, filter: &Filter) -> bool {
    let allocates = |e: &Effect| matches!(e, Effect::Allocates { .. } | Effect::Frees(_));
    let driver = tables.families.iter().filter(|f| f.name == "driver").flat_map(|f| f.functions);
    let mut allocating = driver.filter(|f| f.effects.iter().any(allocates));
    filter.rules().is_empty() || allocating.all(|f| filter.shows(Layer::Driver, "libcuda.so.1", f.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_reserved_ranges_and_memory_that_was_freed_unseen() {
        let mut places = Places { complete: true, ..Places::default() };
        let found = |p: &Places, at| p.at(at, None, false).map(|f| (f.memory, f.offset, f.size));
        places.insert(0x1000, Some(0x1000), Memory::Reserved, None);
        places.insert(0x1000, Some(0x100), Memory::Device, Some(1));
        assert_eq!(found(&places, 0x10ff), Some((Memory::Device, 0xff, 0x100)));
        assert_eq!(found(&places, 0x1100), Some((Memory::Reserved, 0x100, 0x1000)));
        assert_eq!(found(&places, 0x2000), None);
        // Told again by another layer, which knows no device; and over something that ended unseen.
        places.insert(0x1000, Some(0x100), Memory::Device, None);
        assert_eq!(places.at(0x1000, Some(4), false).unwrap().device, Some(1));
        places.insert(0xf80, Some(0x100), Memory::Managed, Some(1));
        assert_eq!(found(&places, 0x1000), Some((Memory::Managed, 0x80, 0x100)));
        assert_eq!(places.at(0xf80, None, false).unwrap().device, None);
        places.remove(0xf80);
        places.remove(0x1000);
        assert_eq!(found(&places, 0x1000), None);
        assert_eq!(places.at(0x1000, None, true).map(|f| f.memory), Some(Memory::Host));
    }

    #[test]
    fn memory_of_unknown_length() {
        let mut places = Places::default();
        places.insert(0x1000, None, Memory::Device, Some(0));
        assert_eq!(places.at(0x1000, None, false).map(|f| f.size), Some(0));
        assert!(places.at(0x1001, None, false).is_none());
        places.insert(0x1000, Some(8), Memory::Device, None);
        places.insert(0x1000, None, Memory::Device, None);
        assert_eq!(places.at(0x1007, None, true).map(|f| (f.size, f.device)), Some((8, Some(0))));
        places.insert(0x2000, Some(0), Memory::Device, None);
        places.insert(u64::MAX, Some(u64::MAX), Memory::Device, None);
        assert!(places.at(0x2000, None, true).is_none());
        assert!(places.at(u64::MAX, None, false).is_some());
    }
}
