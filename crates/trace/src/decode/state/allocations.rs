//! Allocations by address. Reserved ranges are separate, because memory is mapped inside them. Freed memory is
//! remembered until its addresses are used again.
//!
//! Memory counts as host memory only if a call says so, or if no driver uses such addresses.

use super::effect_origin::EffectOrigin;
use super::free_coverage::FreeCoverage;
use crate::event::value::MemoryPlace;
use cutap_calls::capture::{can_be, is_programs};
use cutap_calls::known::{Handle, Memory};
use std::collections::{BTreeMap, VecDeque};

/// Allocations beyond this many are not followed.
const MOST: usize = 1 << 20;
/// Freed ones that are remembered; the oldest are forgotten.
const FREED: usize = 1 << 14;

/// The allocations of a process.
#[derive(Debug, Default)]
pub struct Allocations {
    memory: BTreeMap<u64, Allocation>,
    reserved: BTreeMap<u64, Allocation>,
    /// Each with its place in the order of their ends.
    freed: BTreeMap<u64, (u64, Allocation)>,
    free_order: VecDeque<(u64, u64)>,
    frees_made: u64,
    /// All calls of the process are recorded, so that memory nobody allocated is the host's.
    pub complete: bool,
    /// Of which calls that end memory all are recorded: of memory that may have ended unseen nothing is said.
    pub free_coverage: FreeCoverage,
}

/// A handle that memory belongs to: its kind and value.
pub type Owner = (&'static Handle, u64);

#[derive(Debug, Clone, Copy)]
struct Allocation {
    /// 0: not known.
    bytes: u64,
    memory: Memory,
    device: Option<u32>,
    /// When it was made, and by which thread.
    since: u64,
    thread: u32,
    owner: Option<Owner>,
    /// The context that it was made in; 0: not known, or it does not end with one.
    context: u64,
    /// It was the program's before a call page-locked it, and is so afterwards.
    registered: bool,
}

/// What is said of an address that lies in no allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// Nothing.
    Nothing,
    /// It is the host's: the call means it so.
    Host,
    /// It is the host's: the processor has memory there.
    Readable,
    /// It is the host's if it lies where only such memory is; else in no allocation.
    ByRange,
}

impl Allocations {
    /// Memory at `address`, from `origin.now` on; of unknown length when `bytes` is none.
    pub fn insert(
        &mut self,
        address: u64,
        bytes: Option<u64>,
        memory: Memory,
        device: Option<u32>,
        origin: EffectOrigin<'_>,
    ) {
        // A layer that does not know the length adds nothing to one that did.
        if address == 0 || bytes == Some(0) || bytes.is_none() && self.at(address, None, Fallback::Nothing).is_some() {
            return;
        }
        let device = if memory == Memory::Device { device } else { None };
        let map = if memory == Memory::Reserved { &mut self.reserved } else { &mut self.memory };
        // A runtime reports what its driver call has reported before, with the length that the driver was asked for.
        let same = map.get(&address).copied().filter(|old| origin.repeats(old.thread, old.since));
        let reported_bytes = same.filter(|s| s.memory == memory && s.bytes > 0).map(|s| s.bytes);
        let bytes = reported_bytes.or(bytes).unwrap_or(0);
        // Anything else that was there has ended: unseen, or by a call that has not returned yet.
        let end = address.saturating_add(bytes.max(1));
        let old: Vec<u64> = map.range(address..end).map(|(at, _)| *at).collect();
        for at in old {
            map.remove(&at);
        }
        if map.len() < MOST {
            let (since, thread) = same.map_or((origin.now, origin.thread), |s| (s.since, s.thread));
            let device = device.or(same.and_then(|s| s.device));
            let owner = same.and_then(|s| s.owner);
            let context = same.map_or(0, |s| s.context);
            let registered = false;
            map.insert(address, Allocation { bytes, memory, device, since, thread, owner, context, registered });
        }
        let reaches = |(at, (_, a)): &(&u64, &(u64, Allocation))| at.saturating_add(a.bytes.max(1)) > address;
        let first = self.freed.range(..address).next_back().filter(reaches).map(|(at, _)| *at);
        let reused: Vec<u64> = self.freed.range(first.unwrap_or(address)..end).map(|(at, _)| *at).collect();
        for at in reused {
            self.freed.remove(&at);
        }
    }

    /// The memory at `address` belongs to a handle.
    pub fn set_owner(&mut self, address: u64, to: Owner) {
        if let Some(allocation) = self.memory.get_mut(&address) {
            allocation.owner = Some(to);
        }
    }

    /// The memory at `address` ends with a context.
    pub fn in_context(&mut self, address: u64, context: u64) {
        if let Some(allocation) = self.memory.get_mut(&address).filter(|f| f.context == 0) {
            allocation.context = context;
        }
    }

    /// A context, or all that these handles stand for, has ended by a call that began at `since`, with its memory.
    pub fn end_with(&mut self, context: u64, owners: &[(&'static str, u64)], since: u64) {
        let is_owned = |a: &Allocation| {
            let owner = a.owner.map(|(kind, value)| (kind.short, value));
            // What is mapped stays when its handle is released.
            let owned = a.memory != Memory::Mapped && owner.is_some_and(|of| owners.contains(&of));
            context != 0 && a.context == context || owned
        };
        let freed: Vec<u64> = self.memory.iter().filter(|(_, a)| is_owned(a)).map(|(at, _)| *at).collect();
        freed.into_iter().for_each(|at| self.remove(at, since));
    }

    /// The memory at `address` was the program's before.
    pub fn registered(&mut self, address: u64) {
        if let Some(allocation) = self.memory.get_mut(&address) {
            allocation.registered = true;
        }
    }

    /// What was mapped in this range, by a call that began before `since`, is mapped no more.
    pub fn unmap(&mut self, address: u64, bytes: u64, since: u64) {
        let mapped = |(_, a): &(&u64, &Allocation)| a.memory == Memory::Mapped && a.since <= since;
        let range = self.memory.range(address..address.saturating_add(bytes));
        let unmapped: Vec<u64> = range.filter(mapped).map(|(at, _)| *at).collect();
        for at in unmapped {
            self.memory.remove(&at);
        }
    }

    /// From now on calls that end memory may be missing: nothing is said of what was there, or comes.
    pub fn forget(&mut self) {
        *self = Allocations::default();
    }

    /// Memory of a graph is there again: the graph was launched.
    pub fn reallocate(&mut self, address: u64, origin: EffectOrigin<'_>) {
        if let Some((_, allocation)) = self.freed.remove(&address) {
            self.insert(address, Some(allocation.bytes), allocation.memory, allocation.device, origin);
        }
    }

    /// The memory at `address` ends, by a call that began at `since`. What another thread was given there
    /// meanwhile is not the memory that was meant.
    pub fn remove(&mut self, address: u64, since: u64) {
        let map = if self.memory.contains_key(&address) { &mut self.memory } else { &mut self.reserved };
        if let Some(allocation) = map.get(&address).copied().filter(|allocation| allocation.since <= since) {
            map.remove(&address);
            if !allocation.registered {
                self.frees_made += 1;
                self.freed.insert(address, (self.frees_made, allocation));
                self.free_order.push_back((address, self.frees_made));
            }
        }
        while self.free_order.len() > FREED {
            // Another may have ended there since.
            if let Some((oldest, order)) = self.free_order.pop_front()
                && self.freed.get(&oldest).is_some_and(|(n, _)| *n == order)
            {
                self.freed.remove(&oldest);
            }
        }
    }

    /// Where an address leads to, and the handle that this belongs to; `length` bytes of it are meant.
    pub fn at(&self, address: u64, length: Option<u64>, fallback: Fallback) -> Option<(MemoryPlace, Option<Owner>)> {
        let inside = |start: u64, allocation: Allocation| {
            let offset = address - start;
            (offset < allocation.bytes.max(1)).then_some((offset, allocation))
        };
        let within = |map: &BTreeMap<u64, Allocation>| {
            map.range(..=address).next_back().and_then(|(start, allocation)| inside(*start, *allocation))
        };
        let live = within(&self.memory).or_else(|| within(&self.reserved));
        let freed = || {
            let (start, (_, allocation)) = self.freed.range(..=address).next_back()?;
            // What page-locked memory was there is gone: this came from elsewhere.
            let is_replaced = fallback == Fallback::Readable && allocation.memory == Memory::Host;
            inside(*start, *allocation).filter(|_| self.complete && !is_replaced)
        };
        let Some(((offset, allocation), freed)) = live.map(|f| (f, false)).or_else(|| Some((freed()?, true))) else {
            let hosts = matches!(fallback, Fallback::Host | Fallback::Readable) || is_programs(address);
            let memory = if hosts { Memory::Host } else { Memory::Unknown };
            let place = MemoryPlace { memory, device: None, offset: 0, bytes: None, size: 0, freed: false, of: None };
            return (fallback != Fallback::Nothing && self.complete && can_be(address)).then_some((place, None));
        };
        let Allocation { bytes: size, memory, device, owner, .. } = allocation;
        if memory == Memory::Graph && !self.free_coverage.graphs {
            return None;
        }
        Some((MemoryPlace { memory, device, offset, bytes: length, size, freed, of: None }, owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::state::recorded_calls::RecordedCalls;
    use crate::synthetic::tables::TABLES;

    /// A call that ends now, and began after all before it.
    fn told(now: u64) -> EffectOrigin<'static> {
        EffectOrigin { name: "cuMemAlloc_v2", thread: 1, start_ns: now, now }
    }

    /// A call around the one that ended before, which was the first.
    fn around(now: u64) -> EffectOrigin<'static> {
        EffectOrigin { start_ns: 0, ..told(now) }
    }

    #[test]
    fn memory_that_is_given_again_before_its_free_returns() {
        for waited_since in [5, 12] {
            let mut places = Allocations {
                complete: true,
                free_coverage: FreeCoverage::recorded(&TABLES, &RecordedCalls::all()),
                ..Allocations::default()
            };
            let found =
                |p: &Allocations| p.at(0x10000, None, Fallback::ByRange).map(|(f, _)| (f.freed, f.size, f.device));
            places.insert(0x10000, Some(0x1000), Memory::Device, Some(0), told(10));
            // By the free that began at 11; the runtime's call asked for another length than the driver's, and knows no
            // device.
            let other = EffectOrigin { name: "cuMemAlloc_v2", thread: 2, start_ns: waited_since, now: 20 };
            places.insert(0x10000, Some(0x100), Memory::Device, Some(1), other);
            places.remove(0x10000, 11);
            places.insert(0x10000, Some(0x80), Memory::Device, None, EffectOrigin { start_ns: 4, now: 30, ..other });
            places.remove(0x10000, 11);
            assert_eq!(found(&places), Some((false, 0x100, Some(1))));
            places.remove(0x10000, 20);
            assert_eq!(found(&places), Some((true, 0x100, Some(1))));
        }
    }

    #[test]
    fn memory_in_reserved_ranges_and_memory_that_was_freed_unseen() {
        let mut places = Allocations {
            complete: true,
            free_coverage: FreeCoverage::recorded(&TABLES, &RecordedCalls::all()),
            ..Allocations::default()
        };
        let found = |p: &Allocations, at| p.at(at, None, Fallback::Nothing).map(|(f, _)| (f.memory, f.offset, f.size));
        places.insert(0x1000, Some(0x1000), Memory::Reserved, None, told(0));
        places.insert(0x1000, Some(0x100), Memory::Device, Some(1), told(1));
        assert_eq!(found(&places, 0x10ff), Some((Memory::Device, 0xff, 0x100)));
        assert_eq!(found(&places, 0x1100), Some((Memory::Reserved, 0x100, 0x1000)));
        assert_eq!(found(&places, 0x2000), None);
        // Told again by another layer, which knows no device; and over something that ended unseen.
        places.insert(0x1000, Some(0x100), Memory::Device, None, around(2));
        assert_eq!(places.at(0x1000, Some(4), Fallback::Nothing).unwrap().0.device, Some(1));
        places.insert(0xf80, Some(0x100), Memory::Managed, Some(1), told(0));
        assert_eq!(found(&places, 0x1000), Some((Memory::Managed, 0x80, 0x100)));
        assert_eq!(places.at(0xf80, None, Fallback::Nothing).unwrap().0.device, None);
        places.remove(0xf80, 0);
        places.remove(0x1000, 0);
        assert_eq!(found(&places, 0x1000), Some((Memory::Reserved, 0, 0x1000)), "freed");
        let memory = |at| places.at(at, None, Fallback::ByRange).map(|(f, _)| f.memory);
        assert_eq!((memory(0x10000), memory(0x5555_5555_6000)), (Some(Memory::Unknown), Some(Memory::Host)));
        for none in [1, 0xffff, 1 << 47, u64::MAX] {
            assert!(places.at(none, None, Fallback::ByRange).is_none(), "{none:#x}");
        }
    }

    #[test]
    fn memory_that_was_freed() {
        let mut places = Allocations {
            complete: true,
            free_coverage: FreeCoverage::recorded(&TABLES, &RecordedCalls::all()),
            ..Allocations::default()
        };
        let found = |p: &Allocations, at| p.at(at, None, Fallback::ByRange).map(|(f, _)| (f.memory, f.freed));
        places.insert(0x10000, Some(0x1000), Memory::Device, Some(0), told(10));
        places.remove(0x10000, 20);
        assert_eq!(found(&places, 0x10fff), Some((Memory::Device, true)));
        // Part of it is handed out again; then the runtime's call, which began before, returns.
        places.insert(0x10800, Some(0x100), Memory::Device, Some(0), told(30));
        assert_eq!(found(&places, 0x10000), Some((Memory::Unknown, false)));
        places.remove(0x10800, 25);
        assert_eq!(found(&places, 0x10800), Some((Memory::Device, false)));
        // So is memory of the host, but not what was the program's before.
        places.insert(0x20000, Some(0x100), Memory::Host, None, told(40));
        places.remove(0x20000, 50);
        assert_eq!(found(&places, 0x20000), Some((Memory::Host, true)));
        let there = |p: &Allocations, at| p.at(at, None, Fallback::Readable).map(|(f, _)| (f.memory, f.freed));
        assert_eq!(there(&places, 0x20000), Some((Memory::Host, false)), "it came again from elsewhere");
        places.insert(0x20000, Some(0x100), Memory::Host, None, told(60));
        places.registered(0x20000);
        places.remove(0x20000, 70);
        assert_eq!(found(&places, 0x20000), Some((Memory::Unknown, false)));
        assert_eq!(found(&places, 0x2_0000_0000), Some((Memory::Unknown, false)));
        for n in 0..2 * FREED as u64 {
            places.insert(0x100000 + n, Some(1), Memory::Device, None, told(60));
            places.remove(0x100000 + n, 60);
        }
        assert!(places.freed.len() <= FREED && places.free_order.len() <= FREED);
    }

    #[test]
    fn memory_that_is_mapped() {
        let mut places = Allocations {
            complete: true,
            free_coverage: FreeCoverage::recorded(&TABLES, &RecordedCalls::all()),
            ..Allocations::default()
        };
        let found = |p: &Allocations, at| p.at(at, None, Fallback::ByRange).map(|(f, _)| (f.memory, f.freed, f.size));
        places.insert(0x100000, Some(0x40000), Memory::Reserved, None, told(10));
        places.insert(0x100000, Some(0x10000), Memory::Mapped, None, told(20));
        places.insert(0x110000, Some(0x10000), Memory::Mapped, None, told(30));
        places.unmap(0x100000, 0x20000, 25);
        assert_eq!(found(&places, 0x100000), Some((Memory::Reserved, false, 0x40000)));
        assert_eq!(found(&places, 0x110000), Some((Memory::Mapped, false, 0x10000)), "it was mapped meanwhile");
        places.unmap(0x100000, u64::MAX, 40);
        assert_eq!(found(&places, 0x110000), Some((Memory::Reserved, false, 0x40000)));
        places.remove(0x100000, 50);
        assert_eq!(found(&places, 0x13ffff), Some((Memory::Reserved, true, 0x40000)));
        places.insert(0x200000, Some(0x100), Memory::Graph, None, told(60));
        places.remove(0x200000, 70);
        places.reallocate(0x200000, told(80));
        assert_eq!(found(&places, 0x2000ff), Some((Memory::Graph, false, 0x100)));
    }

    #[test]
    fn memory_of_unknown_length() {
        let mut places = Allocations::default();
        places.insert(0x1000, None, Memory::Device, Some(0), told(1));
        assert_eq!(places.at(0x1000, None, Fallback::Nothing).map(|(f, _)| f.size), Some(0));
        assert!(places.at(0x1001, None, Fallback::Nothing).is_none());
        places.insert(0x1000, Some(8), Memory::Device, None, around(2));
        places.insert(0x1000, None, Memory::Device, None, around(3));
        assert_eq!(places.at(0x1007, None, Fallback::ByRange).map(|(f, _)| (f.size, f.device)), Some((8, Some(0))));
        places.insert(0x2000, Some(0), Memory::Device, None, told(0));
        places.insert(u64::MAX, Some(u64::MAX), Memory::Device, None, told(0));
        assert!(places.at(0x2000, None, Fallback::ByRange).is_none());
        assert!(places.at(u64::MAX, None, Fallback::Nothing).is_some());
    }
}
