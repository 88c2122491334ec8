//! Whether any process still has a page of the run mapped. The kernel grants a read lease only while no process has the
//! file open for writing, and a mapping keeps it open.
//!
//! This works for processes that /proc does not show. On file systems without leases (NFS, overlayfs) the answer is
//! unknown. It never waits, and keeps no lease.

use cutap_trace::open_file;
use cutap_wire::control::ALIVE;
use std::io::Error;
use std::os::fd::AsRawFd;
use std::path::Path;

/// By which signal a descriptor's owner is told; libc's crate has no name for it.
const F_SETSIG: i32 = 10;

/// True when some process has it; false where that cannot be told.
pub fn is_mapped(run: &Path) -> bool {
    let Ok(file) = open_file(&run.join(ALIVE), false) else { return false };
    // Who opens it for writing while we have the lease, for a moment, makes the kernel tell us: by a signal that is
    // ignored. SAFETY: our own descriptor, and no memory.
    let (leased, error) = unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let leased = libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0;
        let error = Error::last_os_error().raw_os_error();
        libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
        (leased, error)
    };
    !leased && error == Some(libc::EAGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies in a run directory under this name may be anything.
    #[test]
    fn a_pipe_is_not_waited_for() {
        let run = tempfile::tempdir().unwrap();
        assert!(std::process::Command::new("mkfifo").arg(run.path().join(ALIVE)).status().unwrap().success());
        assert!(!is_mapped(run.path()));
    }
}
