//! Whose code an address is, for the report of a fault.

use crate::context::shared::lock;
use std::sync::{Mutex, Weak};

/// The code of one module.
pub(crate) trait CodeMap: Send + Sync {
    /// The kernel whose code has this address.
    fn kernel_at(&self, address: u64) -> Option<String>;
    /// The function of libcuda for which the code at this address stands.
    fn missing_at(&self, address: u64) -> Option<String>;
    /// All functions of libcuda that the module calls.
    fn missing(&self) -> &[String];
}

/// The modules of a context, while they are loaded.
#[derive(Default)]
pub(crate) struct CodeMaps(Mutex<Vec<Weak<dyn CodeMap>>>);

impl CodeMaps {
    pub fn add(&self, map: Weak<dyn CodeMap>) {
        let mut maps = lock(&self.0);
        maps.retain(|map| map.strong_count() > 0);
        maps.push(map);
    }

    fn find<T>(&self, ask: impl Fn(&dyn CodeMap) -> Option<T>) -> Option<T> {
        // A module may end here with its last reference: not while the list is locked.
        let maps: Vec<_> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
        maps.iter().find_map(|map| ask(&**map))
    }

    pub fn kernel_at(&self, address: u64) -> Option<String> {
        self.find(|map| map.kernel_at(address))
    }

    pub fn missing_at(&self, address: u64) -> Option<String> {
        self.find(|map| map.missing_at(address))
    }

    /// All functions of libcuda that modules call.
    pub fn missing(&self) -> Vec<String> {
        let maps: Vec<_> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
        let mut names: Vec<String> = maps.iter().flat_map(|map| map.missing().to_vec()).collect();
        names.sort();
        names.dedup();
        names
    }
}
