//! Files of a run directory that are read again and again. A run may have more of them than there are descriptors, so a
//! limited number stays open. The others share one descriptor: it belongs to the file that was read last.

use super::file::Bytes;
use super::run_path::RunPath;
use super::shared_descriptor;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Descriptors that are left to everybody else: streams, pages, listings, files that are read once.
const OTHERS: u64 = 32;

/// Files that stay open.
static HELD: AtomicUsize = AtomicUsize::new(0);
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// A file of a run directory.
#[derive(Debug)]
pub struct CachedFile {
    path: RunPath,
    write: bool,
    number: u64,
    own: Mutex<Option<File>>,
}

impl CachedFile {
    /// Opens it, as `RunPath::open_file` does.
    pub fn open(path: &RunPath, write: bool) -> io::Result<CachedFile> {
        let number = NUMBERS.fetch_add(1, Relaxed);
        let file = CachedFile { path: path.clone(), write, number, own: Mutex::new(None) };
        file.ready()?;
        Ok(file)
    }

    /// Closes it until it is read again: nothing is expected of it soon.
    pub fn let_go(&self) {
        if self.own.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            HELD.fetch_sub(1, Relaxed);
        }
        let mut last = shared_descriptor::locked();
        if last.as_ref().is_some_and(|(number, _)| *number == self.number) {
            *last = None;
        }
    }

    /// Opens it if it is not; else what follows would fail.
    pub fn ready(&self) -> io::Result<()> {
        self.with(|_| Ok(()))
    }

    /// Fills the buffer.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.with(|file| file.read_exact_at(buffer, at))
    }

    /// Does something with the open file.
    fn with<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*own {
            return act(file);
        }
        let mut last = shared_descriptor::locked();
        if let Some((_, file)) = last.as_ref().filter(|(number, _)| *number == self.number) {
            return act(file);
        }
        // Its descriptor is the one that this needs.
        *last = None;
        let file = self.path.open_file(self.write)?;
        if HELD.fetch_add(1, Relaxed) < most_open() {
            return act(own.insert(file));
        }
        HELD.fetch_sub(1, Relaxed);
        act(&last.insert((self.number, file)).1)
    }
}

impl Bytes for CachedFile {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.with(|file| FileExt::read_at(file, buffer, at))
    }
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.with(|file| file.write_all_at(bytes, at))
    }
    fn length(&self) -> io::Result<u64> {
        self.with(|file| Ok(file.metadata()?.len()))
    }
    fn is_immutable(&self) -> bool {
        false
    }
    fn ready(&self) -> io::Result<()> {
        CachedFile::ready(self)
    }
    fn let_go(&self) {
        CachedFile::let_go(self);
    }
}

impl Drop for CachedFile {
    fn drop(&mut self) {
        self.let_go();
    }
}

fn most_open() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    limit.saturating_sub(OTHERS) as usize
}
