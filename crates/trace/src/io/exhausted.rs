//! Files of a run that could not be opened for want of descriptors, memory or permission, which says nothing about
//! their contents. They are tried again. Failures that remain are reported, because a table without them would look
//! complete.

use super::shared_descriptor::let_last_go;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const MFILE: i32 = rustix::io::Errno::MFILE.raw_os_error();
const NFILE: i32 = rustix::io::Errno::NFILE.raw_os_error();
const NOMEM: i32 = rustix::io::Errno::NOMEM.raw_os_error();

/// What could not be opened, and why.
static SHORT: Mutex<BTreeMap<PathBuf, i32>> = Mutex::new(BTreeMap::new());
/// How often somebody else may still be waited for, who is to close a file.
static PATIENCE: AtomicU32 = AtomicU32::new(25);

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

/// Opens or lists something of a run, again if there was no descriptor for it, and notes it if there is none in the
/// end.
pub(crate) fn open<T>(path: &Path, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match open() {
            Err(e) if is_short(&e) && !let_last_go() => {
                let waits = PATIENCE.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1));
                if waits.is_err() {
                    remember_failure(path, &e);
                    return Err(e);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(e) if is_short(&e) => {}
            Err(e) if is_denied(&e) => {
                remember_failure(path, &e);
                return Err(e);
            }
            done => return done,
        }
    }
}

fn remember_failure(path: &Path, error: &io::Error) {
    let mut short = SHORT.lock().unwrap_or_else(PoisonError::into_inner);
    short.insert(path.to_owned(), error.raw_os_error().unwrap_or(0));
}

/// Forgets what was short up to now: all of it is read once more.
pub fn forget_short() {
    SHORT.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// What of this run could not be opened, and why, for a sentence: `3 rings could not be opened: too many open files`.
pub fn short_of(run: &Path) -> Option<String> {
    let short = SHORT.lock().unwrap_or_else(PoisonError::into_inner);
    let of_run: Vec<(&PathBuf, &i32)> = short.iter().filter(|(path, _)| path.starts_with(run)).collect();
    let (first, why) = of_run.first()?;
    let named = |end: &str| of_run.iter().filter(|(path, _)| path.to_string_lossy().ends_with(end)).count();
    let many = |n: usize, one: &str, more: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { more }));
    let counts = [
        many(named("/proc"), "process", "processes"),
        many(named(".ring"), "ring of a thread", "rings of threads"),
        many(named("/names"), "file of names", "files of names"),
    ];
    let kinds: Vec<String> = counts.into_iter().flatten().collect();
    // Without the list of its processes nothing is known of how many there are.
    let subject = match of_run.iter().any(|(path, _)| *path == run) {
        true => "the run directory".to_owned(),
        false if kinds.is_empty() => first.display().to_string(),
        false => kinds.join(", "),
    };
    let why = match **why {
        NOMEM => "there is no memory for it",
        NFILE => "too many files are open on this machine",
        MFILE => "too many files are open (ulimit -n)",
        _ => "its permissions do not allow it (a umask, another user?)",
    };
    Some(format!("{subject} could not be opened, as {why}"))
}
