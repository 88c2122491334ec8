//! Where the bytes of a run come from: the run folder on disk, or a recording that holds what its
//! files held. What reads them need not know which. Nothing here understands the bytes.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The files of a run.
pub trait Store: Debug + Send + Sync {
    /// The control page.
    fn control(&self) -> io::Result<Vec<u8>>;
    /// Names of the process folders, in order.
    fn processes(&self) -> io::Result<Vec<String>>;
    /// A file of a process; with `write`, one whose chunks are to be given back.
    fn open(&self, process: &str, file: &str, write: bool) -> io::Result<Box<dyn Bytes>>;
}

/// One file of a run.
pub trait Bytes: Debug + Send + Sync {
    /// Reads what there is at `at`, at most as much as the buffer holds.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
    /// Writes all of it.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Its length now.
    fn length(&self) -> io::Result<u64>;
    /// Nobody writes to it any more: two reads are the same, and what is unfinished stays so.
    fn still(&self) -> bool;
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
    fn still(&self) -> bool {
        false
    }
}

/// A run folder.
#[derive(Debug)]
pub struct Disk(pub PathBuf);

impl Store for Disk {
    fn control(&self) -> io::Result<Vec<u8>> {
        std::fs::read(self.0.join(cutap_wire::control::FILE))
    }

    fn processes(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.0)? {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            let digits = name.strip_prefix('p').and_then(|n| n.split_once('-'));
            let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            if digits.is_some_and(|(pid, n)| number(pid) && number(n)) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn open(&self, process: &str, file: &str, write: bool) -> io::Result<Box<dyn Bytes>> {
        let path = self.0.join(process).join(file);
        Ok(Box::new(OpenOptions::new().read(true).write(write).open(path)?))
    }
}
