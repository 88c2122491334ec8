//! Reads a `names` file while it is written. Threads write their names at the same time, so a name may be finished
//! before one that precedes it. A name that is not finished is a hole, and each hole is read again. Two sinks exist:
//! names, for those who use them, and bytes, for those who copy the file.
//!
//! A copy of bytes that are being written is no snapshot: a processor may copy the end of a cell before its beginning
//! (seen on an AMD EPYC). Each piece is therefore read twice, and only a name that is finished in the first copy is
//! taken from the second.

use super::cells::{LONGEST, PIECE};
use crate::io::bytes::read_at;
use crate::io::file::Bytes;
use cutap_wire::names::{CELL, Cell, MAX_BYTES, Name, cell};
use std::cell::RefCell;
use std::io;
use std::ops::Range;

/// Bytes looked at when nobody misses a name.
const GLANCE: usize = 4096;
/// Holes kept in mind; killed threads leave few.
const MOST_HOLES: usize = 4096;

/// What is found in a names file.
#[derive(Debug)]
pub enum NamesItem<'a> {
    /// A name that is finished.
    Name(Name<'a>),
    /// The bytes at this offset as they are now. Of a name that is not finished they are as in the first copy.
    Bytes(u64, &'a [u8]),
}

/// Where reading a names file stands.
#[derive(Debug)]
pub struct NamesFile {
    file: Box<dyn Bytes>,
    /// Everything from here on has not been looked at.
    tail: u64,
    holes: Vec<Range<u64>>,
}

/// The bytes that were read last, and the copy that was made before. All files of a thread share them: a run may have
/// thousands of processes.
#[derive(Debug, Default)]
struct Scratch {
    buffer: Vec<u8>,
    before: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl NamesFile {
    pub fn new(file: Box<dyn Bytes>) -> NamesFile {
        NamesFile { file, tail: 0, holes: Vec::new() }
    }

    /// Nothing is expected of it: it is closed until it is read again.
    pub fn let_go(&self) {
        self.file.let_go();
    }

    /// Hands out the names that were finished since. Unless `thorough`, it reads only if the next cells hold something,
    /// which is enough as long as no name is missing.
    pub fn read(&mut self, thorough: bool, sink: &mut dyn FnMut(Name<'_>)) -> io::Result<()> {
        self.read_all(thorough, &mut |item| {
            if let NamesItem::Name(name) = item {
                sink(name);
            }
            Ok(())
        })
    }

    /// Like `read`, with the bytes too: of all that was not finished the last time. An error of the sink ends it.
    pub fn read_all(
        &mut self,
        thorough: bool,
        sink: &mut dyn FnMut(NamesItem<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        // Taken out, for a sink may read other names.
        let mut scratch = SCRATCH.take();
        let read = self.read_with(&mut scratch, thorough, sink);
        SCRATCH.set(scratch);
        read
    }

    fn read_with(
        &mut self,
        scratch: &mut Scratch,
        thorough: bool,
        sink: &mut dyn FnMut(NamesItem<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if !thorough {
            read_at(&*self.file, self.tail, GLANCE, &mut scratch.buffer)?;
            if scratch.buffer.iter().all(|b| *b == 0) {
                return Ok(());
            }
        }
        let mut holes = std::mem::take(&mut self.holes).into_iter();
        while let Some(hole) = holes.next() {
            if let Err(e) = self.scan(scratch, hole.start, Some(hole.end), sink) {
                // For want of a descriptor, say.
                self.holes.push(hole);
                self.holes.extend(holes);
                return Err(e);
            }
        }
        self.scan(scratch, self.tail, None, sink)
    }

    /// Steps over the cells from `at`; `end` is the hole's, or none for the tail.
    fn scan(
        &mut self,
        scratch: &mut Scratch,
        mut at: u64,
        end: Option<u64>,
        sink: &mut dyn FnMut(NamesItem<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut hole: Option<u64> = None;
        loop {
            // A file is never longer; one that was made so may be a hole of any length.
            let end = end.unwrap_or(MAX_BYTES as u64);
            let want = (end.saturating_sub(at) as usize).min(PIECE);
            read_at(&*self.file, at, want, &mut scratch.before)?;
            read_at(&*self.file, at, scratch.before.len(), &mut scratch.buffer)?;
            let whole = scratch.buffer.len() < want || want < PIECE;
            let mut offset = 0;
            while whole || scratch.buffer.len().saturating_sub(offset) > LONGEST {
                let second_read = match cell(&scratch.before, offset) {
                    Cell::Name(..) => cell(&scratch.buffer, offset),
                    other => other,
                };
                let (step, empty) = match second_read {
                    Cell::Name(name, bytes) => {
                        sink(NamesItem::Name(name))?;
                        (bytes, false)
                    }
                    Cell::Pending(bytes) if bytes <= LONGEST => (bytes, true),
                    Cell::Pending(_) | Cell::Empty => (CELL, true),
                    // A name that is cut off stays a hole until the file has grown.
                    // One that says to be longer than the file leads behind its end.
                    Cell::End if scratch.buffer.len().saturating_sub(offset) >= CELL => (CELL, true),
                    Cell::End => break,
                };
                let place = at + offset as u64;
                if empty {
                    hole.get_or_insert(place);
                    scratch.take_back(offset, step);
                } else {
                    self.close(hole.take(), place);
                    self.tail = self.tail.max(place + step as u64);
                }
                offset += step;
            }
            if whole {
                scratch.take_back(offset, usize::MAX);
                sink(NamesItem::Bytes(at, &scratch.buffer))?;
                break;
            }
            sink(NamesItem::Bytes(at, scratch.buffer.get(..offset).unwrap_or(&[])))?;
            at += offset as u64;
            if offset == 0 {
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

impl Scratch {
    /// What is not finished is as it was in the first copy.
    fn take_back(&mut self, from: usize, bytes: usize) {
        let end = from.saturating_add(bytes).min(self.before.len()).min(self.buffer.len());
        if let (Some(before), Some(now)) = (self.before.get(from..end), self.buffer.get_mut(from..end)) {
            now.copy_from_slice(before);
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
        let run = crate::io::run_path::RunPath::open(folder.path()).unwrap();
        let [path, away] = ["names", "away"].map(|name| folder.path().join(name));
        let (first, second) = (bytes_of("first"), bytes_of("second"));
        let mut bytes = vec![0; first.len()];
        bytes.extend(second);
        std::fs::write(&path, bytes).unwrap();
        let mut names =
            NamesFile::new(Box::new(crate::io::file_cache::CachedFile::open(&run.join("names"), false).unwrap()));
        assert_eq!(texts(&mut names, true), ["second"]);
        names.let_go();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&first, 0).unwrap();
        std::fs::rename(&path, &away).unwrap();
        assert!(names.read(true, &mut |_| panic!("there is no file")).is_err());
        std::fs::rename(&away, &path).unwrap();
        assert_eq!(texts(&mut names, true), ["first"]);
    }

    /// A copy that is put together from the bytes is the file, whatever was unfinished in between.
    #[test]
    fn bytes_of_a_growing_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(256 * 1024).unwrap();
        let mut names = NamesFile::new(Box::new(file.try_clone().unwrap()));
        let (slow, next) = (bytes_of(&"slow".repeat(40)), bytes_of("next"));
        // Its length, without its text; then a name after it; then the text; then one far away.
        let mut begun = vec![0; slow.len()];
        begun[..8].copy_from_slice(&slow[..8]);
        begun[3] = 0;
        let (mut copy, mut found) = (vec![0; 256 * 1024], 0);
        for (bytes, at) in [(&begun, 0), (&next, slow.len()), (&slow, 0), (&next, slow.len() + 900 * CELL)] {
            file.write_all_at(bytes, at as u64).unwrap();
            for thorough in [true, false] {
                let read = names.read_all(thorough, &mut |what| {
                    match what {
                        NamesItem::Name(_) => found += 1,
                        NamesItem::Bytes(at, bytes) => {
                            copy[at as usize..at as usize + bytes.len()].copy_from_slice(bytes)
                        }
                    }
                    Ok(())
                });
                read.unwrap();
            }
        }
        let mut now = vec![0; copy.len()];
        file.read_exact_at(&mut now, 0).unwrap();
        assert!(copy == now, "the copy differs");
        assert_eq!(found, 3);
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
