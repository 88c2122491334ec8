//! Whether any process still has a page of the run mapped. The kernel grants a read lease only while no process has the
//! file open for writing, and a mapping keeps it open.
//!
//! This works for processes that /proc does not show. On file systems without leases (NFS, overlayfs) the answer is
//! unknown. It never waits, and keeps no lease.

use cutap_trace::RunPath;
use cutap_wire::control::ALIVE;
use std::fs::File;
use std::io::Error;
use std::os::fd::AsRawFd;

/// By which signal a descriptor's owner is told; libc's crate has no name for it.
const F_SETSIG: i32 = 10;

/// True when some process has the page that each process of the run maps; false where that is unknown.
pub fn is_mapped(run: &RunPath) -> bool {
    run.join(ALIVE).open_file(false).is_ok_and(|file| is_held(&file) == Some(true))
}

/// Whether some process has this file open for writing, or mapped. None where that is unknown.
pub fn is_held(file: &File) -> Option<bool> {
    // Who opens it for writing while we have the lease, for a moment, makes the kernel tell us: by a signal that is
    // ignored. SAFETY: our own descriptor, and no memory.
    let (leased, error) = unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let leased = libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0;
        let error = Error::last_os_error().raw_os_error();
        libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
        (leased, error)
    };
    match (leased, error) {
        (true, _) => Some(false),
        (false, Some(libc::EAGAIN)) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies in a run directory under this name may be anything.
    #[test]
    fn a_pipe_is_not_waited_for() {
        let run = tempfile::tempdir().unwrap();
        assert!(std::process::Command::new("mkfifo").arg(run.path().join(ALIVE)).status().unwrap().success());
        assert!(!is_mapped(&RunPath::open(run.path()).unwrap()));
    }
}
