//! Whether the names of a process are complete, so that a slot without a name can only be damage. In case of doubt they
//! are not: calls whose names are lost must still be shown.

use super::cells::walk_cells;
use super::disk::Disk;
use crate::io::bytes::{read_at, u64_at};
use crate::io::pages::ProcPage;
use crate::io::run_path::RunPath;
use crate::io::store::Store;
use cutap_wire::diagnostic::NAME_DROPPED;
use cutap_wire::names::{self, CELL, Cell, GROW, MAX_BYTES, Name, kind};
use cutap_wire::{PAGE, process as process_page};

/// Whether the names of a process of this run directory are all there.
pub fn has_all_names(run: &RunPath, process: &str) -> bool {
    let (store, mut page) = (Disk(run.clone()), Vec::new());
    let Ok(file) = store.open(process, process_page::FILE, false) else { return false };
    let parsed = read_at(&*file, 0, PAGE, &mut page).ok().and_then(|()| ProcPage::parse(&page));
    parsed.is_some_and(|page| all_named(&store, process, &page))
}

/// Whether they are.
pub fn all_named(store: &dyn Store, process: &str, page: &ProcPage) -> bool {
    if store.may_lack_names() || page.counters.get(NAME_DROPPED).is_none_or(|dropped| *dropped > 0) {
        return false;
    }
    let Ok(file) = store.open(process, names::FILE, false) else { return false };
    let Ok(length) = file.length() else { return false };
    // On disk it grows by so much; a recording leaves out what is empty at its end.
    if length > MAX_BYTES as u64 || !file.is_immutable() && !length.is_multiple_of(GROW as u64) {
        return false;
    }
    let mut has_names = false;
    let walked = walk_cells(&*file, length, &mut |cell, rest| match cell {
        // What stood behind one that is cut off is gone too.
        Cell::Name(name, length) if !is_whole(rest, &name, length) => None,
        Cell::Name(_, length) => {
            has_names = true;
            Some(length)
        }
        // One that was not finished was never called, but nothing is sure behind it.
        Cell::Pending(_) => None,
        Cell::Empty | Cell::End if rest.iter().take(CELL).any(|b| *b != 0) => None,
        Cell::Empty | Cell::End => Some(CELL),
    });
    walked.unwrap_or(false) && has_names
}

/// Whether all of a name is there: it begins at the beginning of these bytes and takes so many. Where the rest of a
/// file is zeros, the last name ends in them.
pub fn is_whole(bytes: &[u8], name: &Name<'_>, length: usize) -> bool {
    let stated_length = u64_at(bytes, 0) >> 32;
    let text = name.t.last().or(name.s.last());
    // Numbers may end in zeros, but a cell of them does not consist of them.
    let binary = matches!(name.kind, kind::KERNEL_PARAMETERS | kind::LOADED);
    let last = bytes.get(length.saturating_sub(CELL)..length).unwrap_or(&[]);
    stated_length == (names::FIXED + name.s.len() + name.t.len()) as u64
        && (binary || text != Some(&0))
        && last.iter().any(|b| *b != 0)
}
