//! Memory of a stopped thread. A read may wait for the traced program itself: see `assistants.rs`.

use crate::sys;
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The longest path that is read.
const LONGEST_PATH: usize = 4096;
/// Longer ranges are not looked up.
const MOST_PAGES: usize = 64;

const PAGE: u64 = 4096;

/// Files of a process, opened at its start: after `prctl(PR_SET_DUMPABLE, 0)` an ordinary user could not.
#[derive(Debug, Default)]
pub struct Access {
    memory: Option<File>,
    /// Which pages are present.
    pages: Option<File>,
}

impl Access {
    /// Opens them, as far as the system allows.
    pub fn open(tid: i32) -> Arc<Access> {
        let path = format!("/proc/{tid}/mem");
        let memory = OpenOptions::new().read(true).write(true).open(&path).or_else(|_| File::open(&path));
        Arc::new(Access { memory: memory.ok(), pages: File::open(format!("/proc/{tid}/pagemap")).ok() })
    }

    /// Whether all pages of a range are present, so that a read of them does not wait for the program.
    fn has_pages(&self, address: u64, size: usize) -> bool {
        const PRESENT: u8 = 0x80;
        let (first, last) = (address / PAGE, address.saturating_add(size as u64).saturating_sub(1) / PAGE);
        let count = usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX).saturating_add(1);
        let mut entries = vec![0_u8; 8 * count.min(MOST_PAGES)];
        let read = self.pages.as_ref().is_some_and(|pages| pages.read_exact_at(&mut entries, 8 * first).is_ok());
        read && count <= MOST_PAGES && entries.as_chunks::<8>().0.iter().all(|[.., flags]| flags & PRESENT != 0)
    }
}

/// How the memory of a thread is read.
#[derive(Debug)]
pub struct Remote {
    tid: i32,
    access: Arc<Access>,
    /// Only what is present is read.
    at_once: bool,
    forbidden: Cell<bool>,
    absent: Cell<bool>,
}

impl Remote {
    /// The memory of a thread whose process has these files.
    pub fn new(tid: i32, access: Arc<Access>) -> Remote {
        Remote { tid, access, at_once: false, forbidden: Cell::new(false), absent: Cell::new(false) }
    }

    /// Reads only what is present, and so never waits.
    pub fn at_once(self) -> Remote {
        Remote { at_once: true, ..self }
    }

    /// Whether a read was refused: others may not look into the program.
    pub fn is_forbidden(&self) -> bool {
        self.forbidden.get()
    }

    /// Whether something was not read because it is not present.
    pub fn is_absent(&self) -> bool {
        self.absent.get()
    }

    /// Whether a read of this range does not wait for the program.
    pub fn has_pages(&self, address: u64, size: usize) -> bool {
        size == 0 || self.access.has_pages(address, size)
    }

    /// Reads at an address, as far as possible; the number of bytes.
    pub fn read(&self, address: u64, into: &mut [u8]) -> usize {
        if self.at_once && !self.has_pages(address, into.len()) {
            self.absent.set(true);
            return 0;
        }
        match (sys::read(self.tid, address, into), &self.access.memory) {
            (Ok(read), _) => read,
            (Err(_), Some(file)) => file.read_at(into, address).unwrap_or(0),
            (Err(_), None) => {
                self.forbidden.set(true);
                0
            }
        }
    }

    /// The bytes at an address; fewer where not all can be read.
    pub fn bytes(&self, address: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        let read = self.read(address, &mut bytes);
        bytes.truncate(read);
        bytes
    }

    /// A text that ends with a zero byte.
    pub fn text(&self, address: u64) -> Option<String> {
        let mut all = Vec::new();
        while all.len() < LONGEST_PATH {
            let from = address.checked_add(all.len() as u64)?;
            let page = 256 - usize::try_from(from & 255).ok()?;
            let next = self.bytes(from, page);
            if let Some(end) = next.iter().position(|b| *b == 0) {
                all.extend_from_slice(next.get(..end)?);
                return Some(String::from_utf8_lossy(&all).into_owned());
            }
            if next.len() < page {
                return None;
            }
            all.extend(next);
        }
        None
    }

    /// Writes one byte; whether it stands there now.
    pub fn put(&self, address: u64, byte: u8) -> bool {
        sys::write(self.tid, address, byte)
            || self.access.memory.as_ref().is_some_and(|file| file.write_all_at(&[byte], address).is_ok())
    }
}
