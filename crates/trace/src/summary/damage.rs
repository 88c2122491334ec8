//! The damage in the rings of a run directory, for commands that read nothing else of it. Commands that show the
//! directory find the same while they read.

use super::end::{Damage, End};
use crate::io::clock::{Clock, monotonic};
use crate::ring::reader::Item;
use crate::run::error::Error;
use crate::run::run_reader::RunReader;
use crate::symbols::process::ProcessSymbols;
use cutap_wire::record::Record;
use std::path::Path;

/// Reads all rings, and understands only which slots have names.
pub fn damaged(run: &Path) -> Result<Damage, Error> {
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
    Ok(end.damage())
}
