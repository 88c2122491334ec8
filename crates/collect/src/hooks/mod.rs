//! Hook libraries as the collector sees them. They are checked before the program starts, described to the run, and
//! named at the end if the program died in one. No code of a hook runs here.

mod check;
mod crash_notes;
mod hooks_file;
mod mismatches;
mod startup;

pub use check::check;
pub use crash_notes::crash_notes;
pub use hooks_file::file;
pub use mismatches::{not_called, unmatched_hooks};
pub use startup::{ended_at_start, has_started, not_started, outer_hooks_notice};

use crate::base::error::{Error, Result};
use cutap_trace::RunPath;
use cutap_wire::hooks::LIBRARIES;
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
    /// Adds one of cutap's in front of the user's.
    pub fn put_first(&mut self, path: PathBuf) -> Result<()> {
        if self.0.len() == LIBRARIES {
            return Err(Error::own(format!(
                "--inject and --limit-memory need the places of hook libraries ({LIBRARIES} fit); leave one out"
            )));
        }
        self.0.insert(0, path);
        Ok(())
    }
    /// What stands in front of the others in LD_PRELOAD.
    pub fn paths(&self) -> Vec<&OsStr> {
        self.0.iter().map(|p| p.as_os_str()).collect()
    }
    /// Their names for people.
    pub fn name(path: &Path) -> String {
        path.file_name().map_or_else(OsString::new, OsStr::to_owned).to_string_lossy().into_owned()
    }
}
