//! The cells of a `names` file as they appear. Threads write their names at the same time, so a name
//! may be finished before one that stands in front of it: what is not there yet is a hole, and each
//! hole is looked at again. A copy of bytes that are being written is no picture of one moment: a
//! processor may copy the end of a cell before its beginning (seen on an AMD EPYC). So whether a name
//! is finished is looked at in a copy that was made before the one that the name is taken from.

use crate::io::bytes::read_at;
use crate::io::file::Bytes;
use cutap_wire::names::{CELL, Cell, FIXED, MAX_BYTES, Name, cell};
use std::io;
use std::ops::Range;

/// Most bytes of one name: both strings at their longest.
const LONGEST: usize = FIXED + 2 * 0xffff + CELL;
/// Bytes read at a time.
const PIECE: usize = 1 << 20;
/// Bytes looked at when nobody misses a name.
const GLANCE: usize = 4096;
/// Holes kept in mind; killed threads leave few.
const MOST_HOLES: usize = 4096;

/// Where reading a names file stands.
#[derive(Debug)]
pub struct NamesFile {
    file: Box<dyn Bytes>,
    /// Everything from here on has not been looked at.
    tail: u64,
    holes: Vec<Range<u64>>,
    buffer: Vec<u8>,
    /// The copy made before.
    before: Vec<u8>,
}

impl NamesFile {
    pub fn new(file: Box<dyn Bytes>) -> NamesFile {
        NamesFile { file, tail: 0, holes: Vec::new(), buffer: Vec::new(), before: Vec::new() }
    }

    /// Nothing is expected of it: it is closed until it is read again.
    pub fn let_go(&self) {
        self.file.let_go();
    }

    /// Hands out the names that were finished since. Unless `thorough`, only looks whether the next
    /// cells hold something: enough when nobody misses a name.
    pub fn read(&mut self, thorough: bool, sink: &mut dyn FnMut(Name<'_>)) -> io::Result<()> {
        if !thorough {
            read_at(&*self.file, self.tail, GLANCE, &mut self.buffer)?;
            if self.buffer.iter().all(|b| *b == 0) {
                return Ok(());
            }
        }
        let mut holes = std::mem::take(&mut self.holes).into_iter();
        while let Some(hole) = holes.next() {
            if let Err(e) = self.scan(hole.start, Some(hole.end), sink) {
                // For want of a descriptor, say.
                self.holes.push(hole);
                self.holes.extend(holes);
                return Err(e);
            }
        }
        self.scan(self.tail, None, sink)
    }

    /// Steps over the cells from `at`; `end` is the hole's, or none for the tail.
    fn scan(&mut self, mut at: u64, end: Option<u64>, sink: &mut dyn FnMut(Name<'_>)) -> io::Result<()> {
        let mut hole: Option<u64> = None;
        loop {
            // A file is never longer; one that was made so may be a hole of any length.
            let end = end.unwrap_or(MAX_BYTES as u64);
            let want = (end.saturating_sub(at) as usize).min(PIECE);
            read_at(&*self.file, at, want, &mut self.before)?;
            read_at(&*self.file, at, self.before.len(), &mut self.buffer)?;
            let whole = self.buffer.len() < want || want < PIECE;
            let mut offset = 0;
            while whole || self.buffer.len().saturating_sub(offset) > LONGEST {
                let found = match cell(&self.before, offset) {
                    Cell::Name(..) => cell(&self.buffer, offset),
                    other => other,
                };
                let (step, empty) = match found {
                    Cell::Name(name, bytes) => {
                        sink(name);
                        (bytes, false)
                    }
                    Cell::Pending(bytes) if bytes <= LONGEST => (bytes, true),
                    Cell::Pending(_) | Cell::Empty => (CELL, true),
                    // A name that is cut off stays a hole until the file has grown.
                    // One that says to be longer than the file leads behind its end.
                    Cell::End if self.buffer.len().saturating_sub(offset) >= CELL => (CELL, true),
                    Cell::End => break,
                };
                let place = at + offset as u64;
                if empty {
                    hole.get_or_insert(place);
                } else {
                    self.close(hole.take(), place);
                    self.tail = self.tail.max(place + step as u64);
                }
                offset += step;
            }
            at += offset as u64;
            if whole || offset == 0 {
                break;
            }
        }
        // Behind the last name of the tail there is no hole but the rest of the file.
        if let (Some(end), Some(_)) = (end, hole) {
            self.close(hole, end);
        }
        Ok(())
    }

    fn close(&mut self, hole: Option<u64>, end: u64) {
        if let Some(start) = hole.filter(|start| *start < end && self.holes.len() < MOST_HOLES) {
            self.holes.push(start..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    fn bytes_of(name: &str) -> Vec<u8> {
        let name = Name { kind: 1, ticks: 1, a: 2, b: 3, c: 4, s: name.as_bytes(), t: b"t" };
        let mut cells = vec![0u64; name.cells() * CELL / 8];
        // SAFETY: the cells were made for this name.
        unsafe { name.write(cells.as_mut_ptr().cast()) };
        cells.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    fn texts(names: &mut NamesFile, thorough: bool) -> Vec<String> {
        let mut found = Vec::new();
        names.read(thorough, &mut |n| found.push(String::from_utf8_lossy(n.s).into_owned())).unwrap();
        found
    }

    #[test]
    fn names_that_come_out_of_order() {
        let mut file = tempfile::tempfile().unwrap();
        let long = "x".repeat(200);
        let (first, second, third) = (bytes_of(&long), bytes_of("second"), bytes_of("third"));
        file.write_all(&vec![0; 256 * 1024]).unwrap();
        let mut names = NamesFile::new(Box::new(file.try_clone().unwrap()));
        assert!(texts(&mut names, false).is_empty());
        file.write_all_at(&second, first.len() as u64).unwrap();
        assert_eq!(texts(&mut names, true), ["second"]);
        assert!(texts(&mut names, true).is_empty());
        // Its length first, then all of it.
        let mut pending = first.clone();
        pending[3] = 0;
        file.write_all_at(&pending, 0).unwrap();
        file.write_all_at(&third, (first.len() + second.len()) as u64).unwrap();
        assert_eq!(texts(&mut names, false), ["third"]);
        file.write_all_at(&first, 0).unwrap();
        assert_eq!(texts(&mut names, true), [long]);
        assert!(texts(&mut names, true).is_empty());
    }

    /// A name that is never finished and longer than the file ends the reading.
    #[test]
    fn unfinished_name_past_end() {
        let mut file = tempfile::tempfile().unwrap();
        let mut pending = bytes_of(&"x".repeat(60_000));
        pending[3] = 0;
        file.write_all(&pending[..CELL * 3]).unwrap();
        let mut names = NamesFile::new(Box::new(file));
        assert!(texts(&mut names, true).is_empty());
        assert!(texts(&mut names, false).is_empty());
    }

    #[test]
    fn a_name_cut_off_comes_when_the_file_grows() {
        let mut file = tempfile::tempfile().unwrap();
        let name = bytes_of(&"y".repeat(300));
        file.write_all(&name[..128]).unwrap();
        let mut names = NamesFile::new(Box::new(file.try_clone().unwrap()));
        assert!(texts(&mut names, true).is_empty());
        file.write_all(&name[128..]).unwrap();
        assert_eq!(texts(&mut names, true), ["y".repeat(300)]);
    }

    /// As where no descriptor is free: reading fails, and nothing that stood there is forgotten.
    #[test]
    fn a_file_that_cannot_be_opened_for_a_while_is_read_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let [path, away] = ["names", "away"].map(|name| folder.path().join(name));
        let (first, second) = (bytes_of("first"), bytes_of("second"));
        let mut bytes = vec![0; first.len()];
        bytes.extend(second);
        std::fs::write(&path, bytes).unwrap();
        let mut names = NamesFile::new(Box::new(crate::io::file_cache::CachedFile::open(&path, false).unwrap()));
        assert_eq!(texts(&mut names, true), ["second"]);
        names.let_go();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&first, 0).unwrap();
        std::fs::rename(&path, &away).unwrap();
        assert!(names.read(true, &mut |_| panic!("there is no file")).is_err());
        std::fs::rename(&away, &path).unwrap();
        assert_eq!(texts(&mut names, true), ["first"]);
    }

    #[test]
    fn more_names_than_one_piece() {
        let mut file = tempfile::tempfile().unwrap();
        for n in 0..30_000 {
            file.write_all(&bytes_of(&format!("name{n}"))).unwrap();
        }
        let found = texts(&mut NamesFile::new(Box::new(file)), true);
        assert_eq!(found.len(), 30_000);
        assert_eq!(found[29_999], "name29999");
    }
}
