//! Whether a process still runs, by /proc.

use std::path::{Path, PathBuf};

/// Whether a process has ended, as far as its number tells: one in another name space has another.
pub fn is_gone(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Where /proc tells of a process that runs, and is not only waiting to be collected: its folder, or that of a thread
/// of it where the first thread has ended, for then the first tells of neither memory nor environment.
pub fn living(pid: u32) -> Option<PathBuf> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    if runs(&folder)? {
        return Some(folder);
    }
    let threads = std::fs::read_dir(folder.join("task")).ok()?.flatten();
    threads.map(|thread| thread.path()).find(|thread| runs(thread) == Some(true))
}

/// A text of /proc. The name of a process is in many of them, and has any bytes.
///
/// # Errors
/// The file cannot be read.
pub fn text_of_proc(path: impl AsRef<Path>) -> std::io::Result<String> {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// None: there is no such process or thread.
fn runs(folder: &Path) -> Option<bool> {
    let stat = text_of_proc(folder.join("stat")).ok()?;
    // Behind the name, which is in brackets and may hold anything.
    stat.rsplit(") ").next().map(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}
