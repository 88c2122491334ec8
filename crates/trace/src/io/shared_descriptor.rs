//! The one descriptor that the files share which do not stay open. It belongs to the file that was read last, and is
//! closed when it is needed elsewhere.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file that was read last, with its number in the cache.
static LAST: Mutex<Option<(u64, File)>> = Mutex::new(None);

/// Waits for whoever reads that file just now.
pub fn locked() -> MutexGuard<'static, Option<(u64, File)>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the file, so that another can be opened. False if there is none, or if it is being read just now.
pub fn let_last_go() -> bool {
    LAST.try_lock().is_ok_and(|mut last| last.take().is_some())
}
