//! Whether a process still runs, by /proc.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Room for an ordinary environment.
const ENVIRONMENT_BYTES: usize = 16 << 10;

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

/// The environment that a process began with, by its folder in /proc. Empty in the middle of an exec.
///
/// It is taken by one read. An exec between two reads would leave the first part of it, and end the file there.
///
/// # Errors
/// The file cannot be read.
pub fn environment_of(proc: &Path) -> std::io::Result<Vec<u8>> {
    let file = std::fs::File::open(proc.join("environ"))?;
    let mut bytes = vec![0; ENVIRONMENT_BYTES];
    loop {
        let count = file.read_at(&mut bytes, 0)?;
        if count < bytes.len() {
            bytes.truncate(count);
            return Ok(bytes);
        }
        bytes.resize(bytes.len() * 2, 0);
    }
}

/// None: there is no such process or thread.
fn runs(folder: &Path) -> Option<bool> {
    let stat = text_of_proc(folder.join("stat")).ok()?;
    // Behind the name, which is in brackets and may hold anything.
    stat.rsplit(") ").next().map(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also one that is longer than the room for an ordinary one.
    #[test]
    fn an_environment_is_whole() {
        for length in [1, ENVIRONMENT_BYTES, 100_000] {
            let mut child = std::process::Command::new("sleep")
                .arg("1000")
                .env_clear()
                .env("WHOLE", "x".repeat(length))
                .spawn()
                .expect("sleep starts");
            let proc = PathBuf::from(format!("/proc/{}", child.id()));
            let mut environment = environment_of(&proc).unwrap();
            // The child may still be in the middle of its exec.
            while environment.is_empty() {
                environment = environment_of(&proc).unwrap();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(environment, format!("WHOLE={}\0", "x".repeat(length)).into_bytes());
        }
    }
}
