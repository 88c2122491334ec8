//! Kernels: their names as runtimes and modules gave them, demangled once, and their handles, which a
//! driver may give out again for another kernel later.

use crate::names::clean;
use cpp_demangle::Symbol;
use std::collections::HashMap;
use std::sync::Arc;

/// Longest mangled name that is demangled; the demangler's time grows faster than the name.
const LONGEST_DEMANGLED: usize = 16 * 1024;

/// The name for people; the name itself when it is not a mangled C++ name.
pub fn demangle(mangled: &str) -> Option<String> {
    if !mangled.starts_with("_Z") || mangled.len() > LONGEST_DEMANGLED {
        return None;
    }
    Symbol::new(mangled).ok()?.demangle().ok()
}

/// The kernels of one process.
#[derive(Debug, Default)]
pub struct Kernels {
    by_id: HashMap<u64, Arc<str>>,
    /// For each handle its names, each from the moment on that it was given.
    by_handle: HashMap<u64, Vec<(u64, Arc<str>)>>,
    demangled: HashMap<Box<[u8]>, Arc<str>>,
    /// Offset and size of each parameter, by handle.
    parameters: HashMap<u64, Arc<[(u32, u32)]>>,
}

impl Kernels {
    /// A name that NOTE records refer to.
    pub fn name(&mut self, id: u64, mangled: &[u8]) {
        let name = self.intern(mangled);
        self.by_id.insert(id, name);
    }

    /// A handle: with a name, or made from another handle.
    pub fn handle(&mut self, handle: u64, from: u64, ticks: u64, mangled: &[u8]) {
        let name = if mangled.is_empty() { self.at(from, ticks) } else { Some(self.intern(mangled)) };
        let Some(name) = name else { return };
        let names = self.by_handle.entry(handle).or_default();
        let place = names.partition_point(|(when, _)| *when <= ticks);
        names.insert(place, (ticks, name));
    }

    /// What the driver says of the parameters of a handle's kernel: two words of four bytes for each.
    pub fn parameters(&mut self, handle: u64, bytes: &[u8]) {
        let pairs = bytes.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w));
        self.parameters.insert(handle, pairs.map(|w| (w as u32, (w >> 32) as u32)).collect());
    }

    /// Offset and size of each parameter of a handle's kernel.
    pub fn parameters_of(&self, handle: u64) -> Option<&Arc<[(u32, u32)]>> {
        self.parameters.get(&handle)
    }

    /// The name that a handle has now.
    pub fn newest(&self, handle: u64) -> Option<&Arc<str>> {
        self.by_handle.get(&handle)?.last().map(|(_, name)| name)
    }

    /// The name with this id.
    pub fn by_id(&self, id: u64) -> Option<Arc<str>> {
        self.by_id.get(&id).cloned()
    }

    /// The name that `handle` had at this time.
    pub fn at(&self, handle: u64, ticks: u64) -> Option<Arc<str>> {
        let names = self.by_handle.get(&handle)?;
        let place = names.partition_point(|(when, _)| *when <= ticks);
        names.get(place.checked_sub(1)?).map(|(_, name)| name.clone())
    }

    fn intern(&mut self, mangled: &[u8]) -> Arc<str> {
        if let Some(name) = self.demangled.get(mangled) {
            return name.clone();
        }
        let text = clean(mangled);
        let name: Arc<str> = demangle(&text).unwrap_or(text).into();
        self.demangled.insert(mangled.into(), name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_is_used_again() {
        let mut kernels = Kernels::default();
        kernels.handle(0x10, 0, 100, b"_Z5saxpyifPKfPf");
        kernels.handle(0x20, 0x10, 110, b"");
        kernels.handle(0x10, 0, 200, b"other");
        assert_eq!(kernels.at(0x10, 99), None);
        assert_eq!(kernels.at(0x10, 150).as_deref(), Some("saxpy(int, float, float const*, float*)"));
        assert_eq!(kernels.at(0x10, 200).as_deref(), Some("other"));
        assert_eq!(kernels.at(0x20, 300).as_deref(), Some("saxpy(int, float, float const*, float*)"));
        assert_eq!(kernels.at(0x30, 300), None);
    }

    #[test]
    fn names_that_are_no_names() {
        assert_eq!(demangle("saxpy"), None);
        assert_eq!(demangle("_Z"), None);
        assert_eq!(demangle(&format!("_Z{}", "N".repeat(100_000))), None);
    }
}
