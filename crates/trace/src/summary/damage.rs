//! How many parts of a run directory's rings are damaged: what whoever shows the folder counts while it reads, for
//! those that read nothing else of it. It only reads, and understands nothing but which slots have names.

use super::end::End;
use crate::io::clock::{Clock, monotonic};
use crate::ring::reader::Item;
use crate::run::error::Error;
use crate::run::run_reader::RunReader;
use crate::symbols::process::ProcessSymbols;
use cutap_wire::record::Record;
use std::path::Path;

/// Parts that are damaged and to which nobody writes any more.
pub fn damaged(run: &Path) -> Result<u64, Error> {
    let opened = RunReader::new(run)?;
    let mut clock = Clock::of(opened.ticks_per_second(), false);
    let names = opened.store.processes().unwrap_or_default();
    let mut end = End::of(&opened);
    for name in names {
        let Some(mut folder) = ProcessSymbols::open(&opened.store, &name, &mut clock) else { continue };
        folder.read_names(true);
        for mut ring in folder.dir.new_rings(false, &mut clock) {
            ring.end_here();
            let mut sink = |item: Item<'_>| match item {
                Item::Record(Record::Enter { slot, .. }) => folder.may_be_called(slot, false),
                _ => true,
            };
            while ring.read(monotonic(), 1 << 20, &mut sink) {}
            end.ring(&mut ring, &folder.dir.process, &opened);
        }
    }
    Ok(end.damaged)
}
