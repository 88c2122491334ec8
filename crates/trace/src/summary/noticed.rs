//! Events that the processes of a run counted themselves: the end of a trace, without reading its calls.

use super::end::End;
use crate::io::clock::Clock;
use crate::run::error::Error;
use crate::run::run_reader::RunReader;
use crate::symbols::process::ProcessSymbols;
use std::path::Path;

/// Counters and what was listed by name, of all processes; those that could not write anything; when the run was
/// switched.
pub fn noticed(run: &Path) -> Result<End, Error> {
    read(run, true)
}

/// The same by the pages of the processes alone: nothing that is listed by name.
pub fn overview(run: &Path) -> Result<End, Error> {
    read(run, false)
}

fn read(run: &Path, by_name: bool) -> Result<End, Error> {
    let opened = RunReader::new(run)?;
    let mut clock = Clock::of(opened.ticks_per_second(), false);
    let names = opened.store.processes().unwrap_or_default();
    let mut end = End::of(&opened);
    for mut folder in names.iter().filter_map(|name| ProcessSymbols::open(&opened.store, name, &mut clock)) {
        if by_name {
            folder.read_gaps();
        }
        end.folder(&mut folder);
    }
    Ok(end)
}
