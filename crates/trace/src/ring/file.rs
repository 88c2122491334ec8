//! The bytes of a ring. They are in a file of its own, or the first page and the first chunk are in a heads file that
//! rings share (`cutap_wire::ring::shared_head`). Readers see one file in both cases.

use crate::io::bytes::{u32_at, u64_at};
use crate::io::file::Bytes;
use crate::io::file_cache::CachedFile;
use crate::io::run_path::RunPath;
use cutap_wire::ring::{RingHeader, SharedHead, chunk_offset, shared_head};
use cutap_wire::{MAGIC, PAGE};
use std::collections::BTreeMap;
use std::io;
use std::mem::offset_of;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A ring of a run directory.
#[derive(Debug)]
pub struct RingFile {
    path: RunPath,
    write: bool,
    /// Opened when it is read first: a ring that shares its head may have no file of its own.
    own: OnceLock<CachedFile>,
    shared: Option<Shared>,
}

/// The head of a ring in a heads file.
#[derive(Debug)]
struct Shared {
    file: Arc<CachedFile>,
    head: SharedHead,
    chunk_bytes: u32,
}

impl RingFile {
    /// Opens ring number `ring` of a process. With `write`, chunks can be given back to the writer.
    pub fn open(folder: &RunPath, ring: u32, write: bool) -> io::Result<RingFile> {
        let path = folder.join(format!("t{ring}.ring"));
        let mut file = RingFile { path, write, own: OnceLock::new(), shared: None };
        // A ring that shares its head makes its own file after the head. A look at the head first could miss both.
        let own = file.own_file().map(drop);
        if let Some(head) = shared_head(ring) {
            file.shared = Shared::find(folder, head, write)?;
        }
        if file.shared.is_none() {
            own?;
        }
        Ok(file)
    }

    /// The number of a ring by the name of its file.
    pub fn number(name: &str) -> Option<u32> {
        name.strip_prefix('t')?.strip_suffix(".ring")?.parse().ok()
    }

    /// Fills the buffer.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], at + filled as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn own_file(&self) -> io::Result<&CachedFile> {
        if let Some(own) = self.own.get() {
            return Ok(own);
        }
        let opened = CachedFile::open(&self.path, self.write)?;
        Ok(self.own.get_or_init(|| opened))
    }
}

impl Shared {
    /// `None`: the heads file holds no head of this ring.
    fn find(folder: &RunPath, head: SharedHead, write: bool) -> io::Result<Option<Shared>> {
        let file = match heads_file(&folder.join(format!("h{}.heads", head.file)), write) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut page = [0; size_of::<RingHeader>()];
        if file.read_exact_at(&mut page, head.page() as u64).is_err()
            || u64_at(&page, offset_of!(RingHeader, magic)) != MAGIC
        {
            return Ok(None);
        }
        Ok(Some(Shared { file, head, chunk_bytes: u32_at(&page, offset_of!(RingHeader, chunk_bytes)) }))
    }

    /// Where the heads file has the byte at `at` of the ring, and how many bytes follow there. `None`: it is in the
    /// ring's own file.
    fn place(&self, at: u64) -> Option<(u64, u64)> {
        let (page, chunk) = (PAGE as u64, u64::from(self.chunk_bytes));
        if at < page {
            Some((self.head.page() as u64 + at, page - at))
        } else if at < page + chunk {
            Some((self.head.chunk(self.chunk_bytes) as u64 + at - page, page + chunk - at))
        } else {
            None
        }
    }
}

impl Bytes for RingFile {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if let Some(shared) = &self.shared {
            if let Some((from, there)) = shared.place(at) {
                let len = buffer.len().min(there as usize);
                return shared.file.read_at(&mut buffer[..len], from);
            }
            return match self.own_file() {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
                own => own?.read_at(buffer, at),
            };
        }
        self.own_file()?.read_at(buffer, at)
    }
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        match self.shared.as_ref().and_then(|shared| Some((shared, shared.place(at)?))) {
            Some((shared, (from, _))) => shared.file.write_at(bytes, from),
            None => self.own_file()?.write_at(bytes, at),
        }
    }
    fn length(&self) -> io::Result<u64> {
        let Some(shared) = &self.shared else { return self.own_file()?.length() };
        match self.own_file() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let chunk = shared.head.chunk(shared.chunk_bytes) as u64;
                let there = shared.file.length()?.saturating_sub(chunk).min(shared.chunk_bytes.into());
                Ok(PAGE as u64 + there)
            }
            own => Ok(own?.length()?.max(chunk_offset(1, shared.chunk_bytes) as u64)),
        }
    }
    fn is_immutable(&self) -> bool {
        false
    }
    fn ready(&self) -> io::Result<()> {
        match &self.shared {
            Some(shared) => shared.file.ready(),
            None => self.own_file()?.ready(),
        }
    }
    fn let_go(&self) {
        self.own.get().into_iter().for_each(CachedFile::let_go);
        self.shared.iter().for_each(|shared| shared.file.let_go());
    }
}

/// A heads file, opened once for all rings in it.
fn heads_file(path: &RunPath, write: bool) -> io::Result<Arc<CachedFile>> {
    static OPEN: Mutex<BTreeMap<(PathBuf, bool), Weak<CachedFile>>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (path.path(), write);
    if let Some(file) = open.get(&key).and_then(Weak::upgrade) {
        return Ok(file);
    }
    open.retain(|_, file| file.strong_count() > 0);
    let file = Arc::new(CachedFile::open(path, write)?);
    open.insert(key, Arc::downgrade(&file));
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::ring::OWN_FILES;
    use std::os::unix::fs::FileExt;

    /// A collector that opens a ring at any moment finds its head, or opens it again later.
    #[test]
    fn a_ring_whose_head_is_being_made() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, run) = (folder.path(), RunPath::open(folder.path()).unwrap());
        let rings = OWN_FILES..OWN_FILES + 300;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for ring in rings.clone() {
                    let head = shared_head(ring).unwrap();
                    let path = folder.join(format!("h{}.heads", head.file));
                    let heads = std::fs::File::options().create(true).write(true).truncate(false).open(path).unwrap();
                    let mut page = [0; size_of::<RingHeader>()];
                    page[offset_of!(RingHeader, magic)..][..8].copy_from_slice(&MAGIC.to_le_bytes());
                    heads.write_all_at(&page, head.page() as u64).unwrap();
                    std::fs::File::create(folder.join(format!("t{ring}.ring"))).unwrap();
                }
            });
            // More readers than cores: the kernel stops some of them anywhere.
            for _ in 0..16 {
                scope.spawn(|| {
                    for ring in rings.clone() {
                        let opened = std::iter::repeat_with(|| RingFile::open(&run, ring, false)).find_map(Result::ok);
                        assert!(opened.unwrap().shared.is_some(), "ring {ring}");
                    }
                });
            }
        });
    }
}
