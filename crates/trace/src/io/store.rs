//! The files of a run, in a run directory or in a recording of one.

use super::file::Bytes;
use std::fmt::Debug;
use std::io;

/// The files of a run.
pub trait Store: Debug + Send + Sync {
    /// The control page.
    fn control(&self) -> io::Result<Vec<u8>>;
    /// What the run was made with: a text of the control page's folder, by its name (`control::FILTER`, `RANK`).
    fn run_text(&self, name: &str) -> Option<String>;
    /// The file of the clocks of the GPUs; empty where there is none.
    fn gpu_clocks(&self) -> Vec<u8>;
    /// Names of the process folders, in order.
    fn processes(&self) -> io::Result<Vec<String>>;
    /// A file of a process; with `write`, one whose chunks are to be given back.
    fn open(&self, process: &str, file: &str, write: bool) -> io::Result<Box<dyn Bytes>>;
    /// What could not be opened, and why, for a sentence.
    fn unopened(&self) -> Option<String> {
        None
    }
    /// Forgets that: all is read once more.
    fn forget_unopened(&self) {}
    /// Names that were there once may be missing, however whole their files look.
    fn may_lack_names(&self) -> bool;
}
