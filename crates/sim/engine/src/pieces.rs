//! Pieces of memory of the simulated machine: each is a part of a file in memory, so that it can be at several
//! addresses. A piece that another process may get has a separate file. All other pieces share one file.

use cutap_driver::abi::Answer;
use cutap_driver::engine::{Access, Piece, View};
use cutap_driver::host::pages::{self, NO_ACCESS, READ, READ_WRITE};
use cutap_machine::PerProcess;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The file of all pieces that cannot be shared with another process.
static COMMON: PerProcess<Mutex<Option<Arc<OwnedFd>>>> = PerProcess::empty();

struct FilePiece {
    file: Arc<OwnedFd>,
    offset: u64,
    size: u64,
    is_alone: bool,
}

/// A new piece. `for_processes`: another process may get it.
pub fn create(size: u64, for_processes: bool) -> Answer<Arc<dyn Piece>> {
    const COMMON_SIZE: u64 = 1 << 46;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if for_processes {
        return Ok(Arc::new(FilePiece { file: Arc::new(pages::new_file(size)?), offset: 0, size, is_alone: true }));
    }
    let mut common = COMMON.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let file = match &*common {
        Some(file) => Arc::clone(file),
        None => Arc::clone(common.insert(Arc::new(pages::new_file(COMMON_SIZE)?))),
    };
    Ok(Arc::new(FilePiece { file, offset: NEXT.fetch_add(size, Ordering::Relaxed), size, is_alone: false }))
}

/// The piece of a descriptor that [`Piece::export`] gave, and its size.
pub fn import(fd: RawFd) -> Answer<(Arc<dyn Piece>, u64)> {
    let (file, size) = pages::import_file(fd)?;
    Ok((Arc::new(FilePiece { file: Arc::new(file), offset: 0, size, is_alone: true }), size))
}

impl Piece for FilePiece {
    fn view(&self, offset: u64, size: u64, address: u64) -> Answer<Box<dyn View>> {
        // SAFETY: the driver reserved these pages, and no view is there.
        unsafe { pages::map_file(address, size, self.file.as_fd(), self.offset + offset) }?;
        Ok(Box::new(FileView { address, size }))
    }

    fn export(&self) -> Answer<i32> {
        pages::duplicate(self.file.as_raw_fd())
    }
}

impl Drop for FilePiece {
    fn drop(&mut self) {
        if !self.is_alone {
            pages::discard(self.file.as_fd(), self.offset, self.size);
        }
    }
}

struct FileView {
    address: u64,
    size: u64,
}

impl View for FileView {
    fn allow(&mut self, access: Access) -> Answer {
        let access = match access {
            Access::Nothing => NO_ACCESS,
            Access::Read => READ,
            Access::Write => READ_WRITE,
        };
        // SAFETY: the pages of this view.
        unsafe { pages::protect(self.address, self.size, access) };
        Ok(())
    }
}

impl Drop for FileView {
    fn drop(&mut self) {
        // SAFETY: the pages of this view, which the driver has forgotten.
        unsafe { pages::reserve_again(self.address, self.size) };
    }
}
