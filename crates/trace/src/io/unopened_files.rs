//! Files of a run that could not be opened for want of descriptors, memory or permission, which says nothing about
//! their contents. They are tried again. Failures that remain are reported, because a table without them would look
//! complete.

use super::shared_descriptor::let_last_go;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const MFILE: i32 = rustix::io::Errno::MFILE.raw_os_error();
const NFILE: i32 = rustix::io::Errno::NFILE.raw_os_error();
const NOMEM: i32 = rustix::io::Errno::NOMEM.raw_os_error();

/// How often a run may wait for a file that another thread or process is to close.
const PATIENCE: u32 = 25;

/// The files of one run that could not be opened, and why.
#[derive(Debug)]
pub(crate) struct UnopenedFiles {
    reasons: Mutex<BTreeMap<PathBuf, i32>>,
    patience: AtomicU32,
}

impl Default for UnopenedFiles {
    fn default() -> UnopenedFiles {
        UnopenedFiles { reasons: Mutex::default(), patience: AtomicU32::new(PATIENCE) }
    }
}

/// It is there, as far as one can tell, and may not be opened.
fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// It may well be there: it failed for want of descriptors, memory or permission.
pub fn may_be_there(error: &io::Error) -> bool {
    is_short(error) || is_denied(error)
}

/// True when it failed for want of descriptors or memory.
pub fn is_short(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(MFILE | NFILE | NOMEM))
}

impl UnopenedFiles {
    /// Opens or lists something of the run, again if there was no descriptor for it, and notes it if there is none in
    /// the end.
    pub(crate) fn open<T>(&self, path: &Path, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match open() {
                Err(e) if is_short(&e) && !let_last_go() => {
                    let waits = self.patience.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1));
                    if waits.is_err() {
                        self.note_failure(path, &e);
                        return Err(e);
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(e) if is_short(&e) => {}
                Err(e) if is_denied(&e) => {
                    self.note_failure(path, &e);
                    return Err(e);
                }
                done => return done,
            }
        }
    }

    fn note_failure(&self, path: &Path, error: &io::Error) {
        self.locked().insert(path.to_owned(), error.raw_os_error().unwrap_or(0));
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<PathBuf, i32>> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what could not be opened up to now: all of it is read once more.
    pub(crate) fn forget(&self) {
        self.locked().clear();
    }

    /// What could not be opened, and why, for a sentence: `3 rings could not be opened: too many open files`. `run` is
    /// the path of the run directory.
    pub(crate) fn sentence(&self, run: &Path) -> Option<String> {
        let reasons = self.locked();
        let (first, why) = reasons.first_key_value()?;
        let named = |end: &str| reasons.keys().filter(|path| path.to_string_lossy().ends_with(end)).count();
        let many =
            |n: usize, one: &str, more: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { more }));
        let counts = [
            many(named("/proc"), "process", "processes"),
            many(named(".ring"), "ring of a thread", "rings of threads"),
            many(named("/names"), "file of names", "files of names"),
        ];
        let kinds: Vec<String> = counts.into_iter().flatten().collect();
        // Without the list of its processes nothing is known of how many there are.
        let subject = match reasons.contains_key(run) {
            true => "the run directory".to_owned(),
            false if kinds.is_empty() => first.display().to_string(),
            false => kinds.join(", "),
        };
        let why = match *why {
            NOMEM => "there is no memory for it",
            NFILE => "too many files are open on this machine",
            MFILE => "too many files are open (ulimit -n)",
            _ => "its permissions do not allow it (a umask, another user?)",
        };
        Some(format!("{subject} could not be opened, as {why}"))
    }
}
