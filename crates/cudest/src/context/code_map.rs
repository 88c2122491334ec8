//! Whose code an address is, for the report of a fault.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The code of one module.
pub(crate) trait CodeMap: Send + Sync {
    /// The kernel whose code has this address.
    fn kernel_at(&self, address: u64) -> Option<String>;
    /// The function of libcuda for which the code at this address stands.
    fn missing_at(&self, address: u64) -> Option<String>;
    /// All functions of libcuda that the module calls.
    fn missing(&self) -> &[String];
    /// The first half of the instruction at this address, if it is code of the module.
    fn instruction_at(&self, address: u64) -> Option<u64>;
}

/// The modules of a context, while they are loaded.
#[derive(Default)]
pub(crate) struct CodeMaps(Mutex<Vec<Weak<dyn CodeMap>>>);

impl CodeMaps {
    pub fn add(&self, map: Weak<dyn CodeMap>) {
        let mut maps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        maps.retain(|map| map.strong_count() > 0);
        maps.push(map);
    }

    /// The modules. One may end with its last reference here, so the list is not locked meanwhile.
    fn loaded(&self) -> Vec<Arc<dyn CodeMap>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    fn find<T>(&self, ask: impl Fn(&dyn CodeMap) -> Option<T>) -> Option<T> {
        self.loaded().iter().find_map(|map| ask(&**map))
    }

    pub fn kernel_at(&self, address: u64) -> Option<String> {
        self.find(|map| map.kernel_at(address))
    }

    pub fn missing_at(&self, address: u64) -> Option<String> {
        self.find(|map| map.missing_at(address))
    }

    pub fn instruction_at(&self, address: u64) -> Option<u64> {
        self.find(|map| map.instruction_at(address))
    }

    /// All functions of libcuda that modules call.
    pub fn missing(&self) -> Vec<String> {
        let mut names: Vec<String> = self.loaded().iter().flat_map(|map| map.missing().to_vec()).collect();
        names.sort();
        names.dedup();
        names
    }
}
