//! What a collector does with what the rings hold: prints it, or puts it into a recording.

use crate::base::error::Result;
use crate::collector::ended_folders::EndedFolders;
use crate::run_dir::control::Page;
use cutap_trace::Damage;
use std::io;

/// What is done with what the rings hold.
pub trait Drain {
    /// Does it with what is there; with `last`, with all of it.
    fn round(&mut self, last: bool, page: &Page) -> Result<Round>;
    /// Forgets processes that have ended, and lets their folders go.
    fn retire(&mut self, folders: &mut EndedFolders, page: &Page) -> io::Result<()>;
    /// When the last one of those threads stopped that have made no record since this moment.
    fn stopped_before(&mut self, _before_ns: u64) -> Option<u64> {
        None
    }
    /// Adds what `cutap where --json` said of a program that hangs.
    fn add_hang(&mut self, _document: &[u8]) -> io::Result<()> {
        Ok(())
    }
    /// What comes at the end.
    fn end(&mut self, page: &Page) -> io::Result<()>;
    /// What is damaged in the rings; known at the end.
    fn damage(&mut self) -> Damage {
        Damage::default()
    }
    /// What of the run directory could not be opened, and why, for a sentence; known at the end.
    fn unopened(&self) -> Option<String>;
    /// Tidies up behind an output that broke.
    fn clean_up(&mut self, _broken: Option<&io::Error>) {}
}

/// What a round brought.
#[derive(Debug, Default)]
pub struct Round {
    /// Another round at once would find more.
    pub more: bool,
    pub has_new: bool,
    /// Why the output cannot be written any more.
    pub broken: Option<io::Error>,
}
