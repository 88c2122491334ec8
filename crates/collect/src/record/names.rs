//! The names of a process as they appear. What stands in the file already is kept in mind, and what
//! has changed since is written: names come out of order, when a thread was slower than another. A
//! copy of a name counts only if a copy made before it was finished (see `trace/names_file.rs`).

use cutap_trace::{Bytes, CachedFile};
use cutap_wire::names::{CELL, Cell, MAX_BYTES, cell};
use std::io;

/// Bytes looked at when nobody misses a name.
const GLANCE: usize = 4096;

/// The names of one process.
#[derive(Debug)]
pub struct Names {
    file: CachedFile,
    /// What stands in the recording.
    written: Vec<u8>,
    /// All cells before are finished.
    finished: usize,
    /// Behind the last name that was seen.
    tail: usize,
}

impl Names {
    pub fn new(file: CachedFile) -> Names {
        Names { file, written: Vec::new(), finished: 0, tail: 0 }
    }

    /// Nothing is expected of it: its file is closed until it is read again.
    pub fn let_go(&self) {
        self.file.let_go();
    }

    /// Hands out what is new: offset and bytes. Unless `all`, only if there seems to be something.
    pub fn read(&mut self, all: bool, sink: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        // They may be there the next time; that they could not be opened is recorded.
        if self.file.ready().is_err() {
            return Ok(());
        }
        if !all && read(&self.file, self.tail, Some(GLANCE))?.iter().all(|b| *b == 0) {
            return Ok(());
        }
        let from = self.finished;
        let before = read(&self.file, from, None)?;
        let mut now = read(&self.file, from, Some(before.len()))?;
        now.resize(before.len(), 0);
        let (mut at, mut gap) = (0, false);
        while at + CELL <= before.len() {
            let bytes = match cell(&before, at) {
                Cell::Name(_, bytes) => {
                    self.tail = from + at + bytes;
                    if !gap {
                        self.finished = self.tail;
                    }
                    bytes
                }
                Cell::Pending(bytes) => {
                    let end = (at + bytes).min(now.len());
                    now[at..end].copy_from_slice(&before[at..end]);
                    gap = true;
                    bytes
                }
                Cell::Empty | Cell::End => {
                    now[at..at + CELL].copy_from_slice(&before[at..at + CELL]);
                    gap = true;
                    CELL
                }
            };
            at += bytes;
        }
        let end = now.iter().rposition(|b| *b != 0).map_or(0, |last| (last + 1).next_multiple_of(CELL).min(now.len()));
        self.write(from, &now[..end], sink)
    }

    /// Hands out the run of cells that differs from what stands in the recording.
    fn write(&mut self, from: usize, now: &[u8], sink: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        self.written.resize(self.written.len().max(from + now.len()), 0);
        let written = &mut self.written[from..from + now.len()];
        let same = |n: usize| now[n] == written[n];
        let Some(first) = (0..now.len()).find(|n| !same(*n)) else { return Ok(()) };
        let last = (0..now.len()).rev().find(|n| !same(*n)).unwrap_or(first);
        let (first, last) = (first / CELL * CELL, (last + 1).next_multiple_of(CELL).min(now.len()));
        sink((from + first) as u64, &now[first..last])?;
        written[first..last].copy_from_slice(&now[first..last]);
        Ok(())
    }
}

/// What there is from `at`, up to so many bytes.
fn read(file: &CachedFile, at: usize, most: Option<usize>) -> io::Result<Vec<u8>> {
    let length = file.length()? as usize;
    let there = if length > MAX_BYTES { written(file)? } else { length }.saturating_sub(at);
    let mut bytes = vec![0; there.min(most.unwrap_or(usize::MAX))];
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], (at + done) as u64)? {
            0 => break,
            n => done += n,
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

/// How much there is of one that somebody has made longer than it may be, perhaps by a hole: up to a piece without
/// names.
fn written(file: &CachedFile) -> io::Result<usize> {
    let (mut piece, mut at) = (vec![0; 1 << 20], 0);
    while at < MAX_BYTES {
        match file.read_at(&mut piece, at as u64)? {
            n if piece[..n].iter().all(|b| *b == 0) => break,
            n => at += n,
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::names::Name;
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    fn bytes_of(name: &str) -> Vec<u8> {
        let name = Name { kind: 1, ticks: 1, a: 2, b: 3, c: 4, s: name.as_bytes(), t: b"t" };
        let mut cells = vec![0u64; name.cells() * CELL / 8];
        // SAFETY: the cells were made for this name.
        unsafe { name.write(cells.as_mut_ptr().cast()) };
        cells.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    #[test]
    fn what_is_put_together_is_what_stands_in_the_file() {
        let path = std::env::temp_dir().join(format!("cutap-names-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.set_len(256 * 1024).unwrap();
        let mut names = Names::new(CachedFile::open(&path, false).unwrap());
        let mut copy = vec![0; 256 * 1024];
        let mut blocks = 0;
        let (slow, next) = (bytes_of(&"slow".repeat(40)), bytes_of("next"));
        // Its length stands there, its text not yet; then a name behind it; then the text.
        let mut begun = vec![0; slow.len()];
        begun[..8].copy_from_slice(&slow[..8]);
        begun[3] = 0;
        for (bytes, at) in [(&begun, 0), (&next, slow.len()), (&slow, 0), (&next, slow.len() + 900 * CELL)] {
            file.write_all_at(bytes, at as u64).unwrap();
            let mut take = |at: u64, bytes: &[u8]| {
                blocks += 1;
                copy[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
                Ok(())
            };
            names.read(true, &mut take).unwrap();
            names.read(false, &mut take).unwrap();
        }
        assert_eq!(copy, std::fs::read(&path).unwrap_or_default());
        assert_eq!(blocks, 4);
        std::fs::remove_file(&path).unwrap();
    }
}
