//! Reads a file that was named by a user. It may be anything: a pipe that no process writes to, a device without an
//! end, a hole of any length. A read ends after a bounded number of bytes.

use crate::error::{Error, Result, printable_path};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// How long a pipe may be without a process that writes to it.
const PATIENCE: Duration = Duration::from_secs(2);

/// All bytes of a file with at most this many. `advice` says what to give instead.
pub(crate) fn read(path: &Path, most: u64, advice: &str) -> Result<Vec<u8>> {
    let (file, data) = open(path)?;
    if !data.is_file() {
        return Err(Error::new(format!("{} is a pipe or a device; {advice}", printable_path(path))));
    }
    bounded(path, file, data.len(), most, advice)
}

/// The same, and of a pipe what is written to it, as that of `<(strace ...)`.
pub(crate) fn read_or_pipe(path: &Path, most: u64, most_of_pipe: u64, advice: &str) -> Result<Vec<u8>> {
    let (file, data) = open(path)?;
    match (data.is_file(), data.file_type().is_fifo()) {
        (true, _) => bounded(path, file, data.len(), most, advice),
        (false, true) => bounded(path, Pipe { file, read: false }, 0, most_of_pipe, advice),
        (false, false) => Err(Error::new(format!("{} is a device; {advice}", printable_path(path)))),
    }
}

fn open(path: &Path) -> Result<(File, Metadata)> {
    let unreadable = |e| Error::unreadable(path, &e);
    // A pipe would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(unreadable)?;
    let data = file.metadata().map_err(unreadable)?;
    if data.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    Ok((file, data))
}

fn bounded(path: &Path, file: impl Read, size: u64, most: u64, advice: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if size <= most {
        let limit = most.saturating_add(1);
        file.take(limit).read_to_end(&mut bytes).map_err(|e| Error::unreadable(path, &e))?;
    }
    match size > most || bytes.len() as u64 > most {
        true => Err(Error::new(format!("{} has more than {most} bytes; {advice}", printable_path(path)))),
        false => Ok(bytes),
    }
}

/// A pipe that does not block.
struct Pipe {
    file: File,
    /// Bytes came.
    read: bool,
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !wait(&self.file, (!self.read).then_some(PATIENCE))? {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no process writes to it"));
            }
            match self.file.read(into) {
                // A writer that has written nothing yet.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.read = true,
                done => {
                    self.read = true;
                    return done;
                }
            }
        }
    }
}

/// Whether there are bytes or an end, within this time.
fn wait(file: &File, limit: Option<Duration>) -> io::Result<bool> {
    let mut on = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let limit = limit.and_then(|limit| i32::try_from(limit.as_millis()).ok()).unwrap_or(-1);
    // SAFETY: one entry, which lives during the call.
    match unsafe { libc::poll(&raw mut on, 1, limit) } {
        -1 => Err(io::Error::last_os_error()),
        found => Ok(found > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end() {
        let read = |path: &str, most| read_or_pipe(Path::new(path), most, most, "give another");
        assert_eq!(read("/dev/zero", 9).unwrap_err().0, "/dev/zero is a device; give another");
        assert!(read("/proc/self/status", 9).unwrap_err().0.ends_with("has more than 9 bytes; give another"));
        assert!(read("/proc/self/status", 1 << 20).unwrap().starts_with(b"Name:"));
        assert!(read("/proc", 9).unwrap_err().0.contains("directory"));
        let (from, mut to) = io::pipe().unwrap();
        let pipe = format!("/proc/self/fd/{}", from.as_raw_fd());
        io::Write::write_all(&mut to, b"more than nine bytes").unwrap();
        assert!(read(&pipe, 9).unwrap_err().0.contains("has more than 9 bytes"));
        io::Write::write_all(&mut to, b"some").unwrap();
        drop(to);
        assert!(read(&pipe, 99).unwrap().ends_with(b"some"));
    }
}
