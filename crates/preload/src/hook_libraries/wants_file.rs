//! What the libraries want, written into the run's file `hooks` for those outside, who know which names there are, and
//! whether any such function was called. Many processes write there: a want that another one has written is not written
//! again. Where it cannot be written the hooks work all the same.

use crate::sys;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::*};
use cutap_wire::hooks::{Head, PATTERN, SELECTOR_BYTES, SELECTORS, SelectorRow};

/// A want in the file.
pub type WantEntry = SelectorRow;

static AT: AtomicUsize = AtomicUsize::new(0);

/// Maps the wants. They stay mapped.
pub fn begin(file: &sys::File, head: &Head) {
    if head.selectors >= head.bytes {
        AT.store(file.map(head.selectors as usize, SELECTOR_BYTES).expose_provenance(), Release);
    }
}

fn all() -> &'static [WantEntry] {
    let at = core::ptr::with_exposed_provenance::<WantEntry>(AT.load(Acquire));
    if at.is_null() {
        return &[];
    }
    // SAFETY: mapped for good, as many; every field is an atomic.
    unsafe { core::slice::from_raw_parts(at, SELECTORS) }
}

/// Writes a want, or finds it.
pub fn put(library: u32, layers: u32, name: &[u8], of: &[u8]) -> Option<&'static WantEntry> {
    for entry in all() {
        if entry.state.compare_exchange(0, 1, AcqRel, Acquire).is_ok() {
            entry.library.store(library, Relaxed);
            entry.layers.store(layers, Relaxed);
            for (to, from) in entry.text.iter().zip([name, of]) {
                to.iter().zip(from).for_each(|(to, from)| to.store(*from, Relaxed));
            }
            entry.state.store(2, Release);
            return Some(entry);
        }
        let is = |to: &[AtomicU8; PATTERN], from: &[u8]| {
            let from = from.iter().copied().chain(core::iter::repeat(0));
            to.iter().zip(from).all(|(to, from)| to.load(Relaxed) == from)
        };
        let [entry_name, entry_library] = &entry.text;
        // One that another process is writing at this moment may be the same: it is there twice then.
        let same = entry.state.load(Acquire) == 2
            && (entry.library.load(Relaxed), entry.layers.load(Relaxed)) == (library, layers)
            && is(entry_name, name)
            && is(entry_library, of);
        if same {
            return Some(entry);
        }
    }
    None
}
