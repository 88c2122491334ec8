//! The bytes of one file, wherever they are. A pipe or device in place of a file must never be waited for.

use super::unopened_files::UnopenedFiles;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// One file of a run.
pub trait Bytes: Debug + Send + Sync {
    /// Reads what there is at `at`, at most as much as the buffer holds.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
    /// Writes all of it.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Its length now.
    fn length(&self) -> io::Result<u64>;
    /// Nobody writes to it any more: two reads are the same, and what is unfinished stays so.
    fn is_immutable(&self) -> bool;
    /// It can be read: if not, it may be later, and what is in there is not lost.
    fn ready(&self) -> io::Result<()> {
        Ok(())
    }
    /// It will not be read soon.
    fn let_go(&self) {}
}

impl Bytes for File {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, at)
    }
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
    fn is_immutable(&self) -> bool {
        false
    }
}

/// Opens a file that was named. What lies there under its name and is no file is refused: a pipe would be waited for,
/// perhaps for ever.
pub fn open_file(path: &Path, write: bool) -> io::Result<File> {
    const O_NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let no_file = |reason| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    let mut options = OpenOptions::new();
    options.read(true).write(write).custom_flags(O_NONBLOCK);
    let file = match UnopenedFiles::default().open(path, || options.open(path)) {
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => return no_file("it is a socket"),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return no_file("it is a link that leads to itself");
        }
        opened => opened?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => no_file("it is a pipe, a folder or a device, and no file"),
    }
}
