//! Hook libraries as the collector sees them. They are checked before the program starts, described to the run, and
//! named at the end if the program died in one. No code of a hook runs here.

mod began;
mod check;
mod known;
mod last;
mod wants;

pub use began::{around, began, ended_at_start, not_started};
pub use check::check;
pub use known::file;
pub use last::crash_notes;
pub use wants::{not_called, unmatched_hooks};

use cutap_trace::RunPath;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the run directory says of hooks, if it has any.
fn file_of(run: &Path) -> Option<Vec<u8>> {
    file_in(&RunPath::open(run).ok()?)
}

/// The same of one that is held open.
fn file_in(run: &RunPath) -> Option<Vec<u8>> {
    run.join(cutap_wire::hooks::FILE).read(cutap_wire::hooks::MAX_BYTES).ok()
}

/// The libraries of a run in their order, as absolute paths.
#[derive(Debug, Default, Clone)]
pub struct Hooks(pub Vec<PathBuf>);

impl Hooks {
    /// What stands in front of the others in LD_PRELOAD.
    pub fn paths(&self) -> Vec<&OsStr> {
        self.0.iter().map(|p| p.as_os_str()).collect()
    }
    /// Their names for people.
    pub fn name(path: &Path) -> String {
        path.file_name().map_or_else(OsString::new, OsStr::to_owned).to_string_lossy().into_owned()
    }
}
