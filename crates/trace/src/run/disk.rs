//! The files of a run directory on disk.

use crate::io::file::Bytes;
use crate::io::file_cache::CachedFile;
use crate::io::run_path::RunPath;
use crate::io::store::Store;
use crate::ring::file::RingFile;
use cutap_wire::gpu_clocks;
use std::io;

/// Bytes of a text at most.
const MOST_TEXT: usize = 1 << 20;

/// A run directory.
#[derive(Debug)]
pub struct Disk(pub RunPath);

impl Store for Disk {
    fn unopened(&self) -> Option<String> {
        self.0.unopened()
    }

    fn forget_unopened(&self) {
        self.0.forget_unopened();
    }

    fn control(&self) -> io::Result<Vec<u8>> {
        self.0.join(cutap_wire::control::FILE).read(cutap_wire::PAGE)
    }

    fn run_text(&self, name: &str) -> Option<String> {
        let text = self.0.join(name).read(MOST_TEXT).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn gpu_clocks(&self) -> Vec<u8> {
        self.0.join(gpu_clocks::FILE).read(gpu_clocks::MAX_BYTES as usize).unwrap_or_default()
    }

    fn processes(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for name in self.0.list()? {
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
        let folder = self.0.join(process);
        // Of a process that has ended and was read whole there may be its page alone, in place of its folder.
        if file == cutap_wire::process::FILE
            && let Ok(page) = CachedFile::open(&folder, write)
        {
            return Ok(Box::new(page));
        }
        Ok(match RingFile::number(file) {
            Some(ring) => Box::new(RingFile::open(&folder, ring, write)?),
            None => Box::new(CachedFile::open(&folder.join(file), write)?),
        })
    }

    fn may_lack_names(&self) -> bool {
        false
    }
}
