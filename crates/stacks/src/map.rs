//! What a process had loaded, and when. The same place may have held several files one after the other, so an address
//! belongs to the file that came last before it was seen.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// An object's name record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// SONAME or file name, for people.
    pub name: Arc<str>,
    /// Where its file lies.
    pub path: Arc<str>,
    /// First byte.
    pub from: u64,
    /// Bytes from there to its end.
    pub bytes: u64,
}

/// An object that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// When.
    pub ticks: u64,
    /// Number of its object.
    pub object: u64,
    /// What is added to an address of the file.
    pub bias: u64,
    /// One of `cutap_wire::names::identity`.
    pub identity_kind: u64,
    /// See `how`.
    pub identity: Box<[u8]>,
}

/// What a process had loaded.
#[derive(Debug, Default)]
pub struct Map {
    objects: HashMap<u64, Object>,
    loads: Vec<Loaded>,
    /// Places in `loads` by the first byte; made again when something was added.
    by_address: BTreeMap<u64, Vec<usize>>,
    sorted: usize,
    /// When each of those came, in order.
    came: Vec<u64>,
    changes: usize,
}

/// As long as it is the same, an address belongs to the same load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Era {
    /// How often something new became known, whenever it came.
    pub changes: usize,
    /// The loads before that time.
    came: usize,
}

/// Objects that begin below an address and end below it too, one after the other: no more are passed by.
const PASSED: usize = 64;

impl Map {
    /// An object has this name.
    pub fn object(&mut self, id: u64, object: Object) {
        if self.objects.insert(id, object).is_some() {
            (self.sorted, self.by_address) = (0, BTreeMap::new());
            self.came.clear();
            self.changes += 1;
        }
    }

    /// An object came.
    pub fn loaded(&mut self, loaded: Loaded) {
        self.loads.push(loaded);
    }

    /// How many objects came so far.
    pub fn len(&self) -> usize {
        self.loads.len()
    }

    /// Whether no object came.
    pub fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// What an address means at this time.
    pub(crate) fn era(&mut self, ticks: u64) -> Era {
        self.sort();
        Era { changes: self.changes, came: self.came.partition_point(|came| *came <= ticks) }
    }

    /// The load that an address belonged to.
    pub(crate) fn find(&mut self, address: u64, ticks: u64) -> Option<usize> {
        self.sort();
        let below = self.by_address.range(..=address).rev().take(PASSED);
        for (_, places) in below {
            let there = |n: &&usize| {
                let (load, object) = self.get(**n)?;
                (load.ticks <= ticks && address.wrapping_sub(object.from) < object.bytes).then_some(load.ticks)
            };
            if let Some(found) = places.iter().filter(|n| there(n).is_some()).max_by_key(there) {
                return Some(*found);
            }
        }
        None
    }

    /// A load, with its object.
    pub(crate) fn get(&self, n: usize) -> Option<(&Loaded, &Object)> {
        let load = self.loads.get(n)?;
        Some((load, self.objects.get(&load.object)?))
    }

    fn sort(&mut self) {
        while let Some(load) = self.loads.get(self.sorted) {
            // Its object's name may still be on the way.
            let Some(object) = self.objects.get(&load.object) else { return };
            self.by_address.entry(object.from).or_default().push(self.sorted);
            self.came.insert(self.came.partition_point(|came| *came <= load.ticks), load.ticks);
            self.changes += 1;
            self.sorted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(all: &[(u64, u64, u64, u64)]) -> Map {
        let mut map = Map::default();
        for &(id, ticks, from, bytes) in all {
            let name: Arc<str> = format!("o{id}").into();
            map.object(id, Object { path: name.clone(), name, from, bytes });
            map.loaded(Loaded { ticks, object: id, bias: from, identity_kind: 0, identity: Box::default() });
        }
        map
    }

    #[test]
    fn the_file_that_was_there_last() {
        let mut map = map(&[(1, 10, 0x1000, 0x100), (2, 20, 0x1000, 0x100), (1, 30, 0x1000, 0x100), (3, 5, 0, 0x10)]);
        let object = |map: &mut Map, address, ticks| {
            let n = map.find(address, ticks)?;
            map.get(n).map(|(l, _)| l.object)
        };
        assert_eq!(object(&mut map, 0x1080, 5), None);
        assert_eq!(object(&mut map, 0x1080, 15), Some(1));
        assert_eq!(object(&mut map, 0x1080, 20), Some(2));
        assert_eq!(object(&mut map, 0x1080, 99), Some(1));
        assert_eq!(object(&mut map, 0x1100, 99), None);
        assert_eq!(object(&mut map, 0xf, 99), Some(3));
    }
}
