//! Names of kernels from runtimes and modules, demangled once, and their handles. A driver may reuse a handle for
//! another kernel.

use super::ptx::Entry;
use super::ptx_files::LoadedFiles;
use crate::io::bytes::clean;
use cutap_stacks::demangle::signature;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// Lists of a kernel's parameters that are kept for one name. PTX from a program may have any number.
const MOST_LISTS: usize = 256;

/// Offset and size of each parameter.
pub type Parameters = Arc<[(u32, u32)]>;

/// The kernels of one process.
#[derive(Debug, Default)]
pub struct Kernels {
    by_id: HashMap<u64, Arc<str>>,
    /// For each handle its names, each from the moment on that it was given.
    by_handle: HashMap<u64, Vec<(u64, Arc<str>)>, RandomState>,
    demangled: HashMap<Box<[u8]>, Arc<str>>,
    /// For each handle offset and size of each parameter, each list from the moment on that the driver was asked for
    /// it.
    parameters: HashMap<u64, Vec<(u64, Parameters)>, RandomState>,
    /// What PTX says of the kernels of a name, the newest last.
    entries: HashMap<Arc<str>, Vec<Arc<Entry>>>,
    /// How many heads of kernels were read: what was concluded before the last one may be wrong.
    pub entries_read: u64,
    /// Files that were loaded, by their names as the program gave them.
    pub files: LoadedFiles,
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
    pub fn parameters(&mut self, handle: u64, ticks: u64, bytes: &[u8]) {
        let pairs = bytes.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w));
        let list = pairs.map(|w| (w as u32, (w >> 32) as u32)).collect();
        let lists = self.parameters.entry(handle).or_default();
        let place = lists.partition_point(|(when, _)| *when <= ticks);
        lists.insert(place, (ticks, list));
    }

    /// The head of a kernel in PTX that was loaded.
    pub fn entry(&mut self, text: &[u8]) {
        let Some(entry) = Entry::parse(text) else { return };
        self.entries_read += 1;
        let name = self.intern(entry.name.as_bytes());
        let entries = self.entries.entry(name).or_default();
        if entries.len() < MOST_LISTS {
            entries.retain(|k| **k != entry);
            entries.push(Arc::new(entry));
        }
    }

    /// What PTX says of a kernel of this name whose parameters have these offsets and sizes. Nothing, if two modules
    /// say different things: which of them a handle is of is not known, and a wrong value is worse than a plain one.
    /// Nothing either, if so many modules say different things that not all were kept.
    pub fn entry_of(&self, name: &str, parameters: &[(u32, u32)]) -> Option<&Arc<Entry>> {
        let sizes = || parameters.iter().map(|(_, size)| *size);
        let mut fitting = self
            .entries
            .get(name)
            .filter(|entries| entries.len() < MOST_LISTS)?
            .iter()
            .filter(|e| e.has_sizes(sizes()));
        fitting.next().filter(|_| fitting.next().is_none())
    }

    /// Those of the kernel that the handle was of at this time.
    pub fn parameters_of(&self, handle: u64, ticks: u64) -> Option<&Parameters> {
        let lists = self.parameters.get(&handle)?;
        let place = lists.partition_point(|(when, _)| *when <= ticks);
        lists.get(place.saturating_sub(1)).map(|(_, list)| list)
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

    /// A name without mangling, made once.
    pub fn intern(&mut self, mangled: &[u8]) -> Arc<str> {
        if let Some(name) = self.demangled.get(mangled) {
            return name.clone();
        }
        let text = clean(mangled);
        let name: Arc<str> = signature(&text).unwrap_or(text).into();
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
        kernels.parameters(0x10, 200, &[0, 0, 0, 0, 4, 0, 0, 0]);
        kernels.parameters(0x10, 100, &[]);
        let of = |ticks| kernels.parameters_of(0x10, ticks).map(|list| list.to_vec());
        assert_eq!(
            [99, 100, 199].map(of),
            [const { Some(Vec::new()) }; 3],
            "the first, for what was not seen in order"
        );
        assert_eq!((of(200), kernels.parameters_of(0x20, 200)), (Some(vec![(0, 4)]), None));
    }

    #[test]
    fn lists_of_ptx_are_found_by_name_and_sizes() {
        let mut kernels = Kernels::default();
        kernels.entry(b".entry _Z1kPf(.param .u64 a)");
        kernels.entry(b".entry _Z1kPf(.param .u64 b, .param .u32 n)");
        kernels.entry(b"no list");
        let first = |sizes: &[(u32, u32)]| kernels.entry_of("k(float*)", sizes).map(|e| e.names[0].to_string());
        assert_eq!((first(&[(0, 8)]).as_deref(), first(&[(0, 8), (8, 4)]).as_deref()), (Some("a"), Some("b")));
        assert_eq!((first(&[(0, 4)]), kernels.entry_of("other", &[(0, 8)])), (None, None));
        kernels.entry(b".entry _Z1kPf(.param .f64 a)");
        assert_eq!(kernels.entry_of("k(float*)", &[(0, 8)]), None, "one of two");
        for number in 0..100_000 {
            kernels.entry(format!(".entry many(.param .u32 n{number})").as_bytes());
            kernels.entry(format!(".entry many(.param .b8 n[{}])", number + 5).as_bytes());
        }
        assert_eq!(kernels.entry_of("many", &[(0, 7)]), None, "not all lists were kept");
        assert_eq!(kernels.entries["many"].len(), MOST_LISTS);
    }
}
