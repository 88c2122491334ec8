//! The names of one process on their way into a recording: whatever changed in the file since the last look, and the
//! slots that have names.

use cutap_trace::{CachedFile, NamesFile, NamesFound, RunPath};
use cutap_wire::PAGE;
use cutap_wire::names::{CELL, kind};
use cutap_wire::record::META_MAX;
use std::collections::BTreeMap;
use std::io;

/// Writes bytes of names at an offset into the recording.
pub type WriteAt<'a> = dyn FnMut(u64, &[u8]) -> io::Result<()> + 'a;

/// The names of one process.
#[derive(Debug)]
pub struct Names {
    file: NamesFile,
    /// What the recording holds, by pages. Those that hold zeros are left out: the file may be a large hole.
    written: BTreeMap<usize, Box<Bytes>>,
    /// Slots that have a name.
    slots: Vec<bool>,
}

impl Names {
    pub fn open(path: &RunPath) -> io::Result<Names> {
        let file = NamesFile::new(Box::new(CachedFile::open(path, false)?));
        Ok(Names { file, written: BTreeMap::new(), slots: Vec::new() })
    }

    /// Closes its file until it is read again.
    pub fn let_go(&self) {
        self.file.let_go();
    }

    /// A function is known in this slot.
    pub fn has(&self, slot: u32) -> bool {
        self.slots.get(slot as usize) == Some(&true)
    }

    /// Writes what is new. Unless `all`, only if there seems to be something.
    pub fn read(&mut self, all: bool, write: &mut WriteAt<'_>) -> io::Result<()> {
        let (mut written, slots) = (Ok(()), &mut self.slots);
        let _ = self.file.read_all(all, &mut |item| {
            match item {
                NamesFound::Name(name) if matches!(name.kind, kind::SLOT | kind::RUNTIME_SLOT) => named(slots, name.a),
                NamesFound::Name(_) => {}
                NamesFound::Bytes(at, bytes) => {
                    written = differences(&mut self.written, at as usize, bytes, write);
                    return written.as_ref().map(|_| ()).map_err(|_| io::ErrorKind::Other.into());
                }
            }
            Ok(())
        });
        // What could not be read may be there the next time.
        written
    }
}

fn named(slots: &mut Vec<bool>, slot: u64) {
    if let Ok(n) = usize::try_from(slot)
        && n < META_MAX as usize
    {
        slots.resize(slots.len().max(n + 1), false);
        slots[n] = true;
    }
}

type Bytes = [u8; PAGE];
const ZEROS: Bytes = [0; PAGE];

/// Writes the cells that differ from what the recording holds.
fn differences(
    written: &mut BTreeMap<usize, Box<Bytes>>,
    at: usize,
    now: &[u8],
    write: &mut WriteAt<'_>,
) -> io::Result<()> {
    let mut changed: Option<std::ops::Range<usize>> = None;
    let mut from = at;
    while from < at + now.len() {
        let inside = from % PAGE;
        let end = (from - inside + PAGE).min(at + now.len());
        let piece = &now[from - at..end - at];
        let recorded_page = written.get(&(from / PAGE)).map_or(&ZEROS, |page| page);
        let recorded = &recorded_page[inside..inside + piece.len()];
        // Nearly always nothing differs, and comparing slices is quick.
        if recorded != piece {
            let differs = |n: &usize| recorded[*n] != piece[*n];
            let first = (0..piece.len()).find(differs).unwrap_or(0);
            let last = (0..piece.len()).rev().find(differs).unwrap_or(0);
            let range = (from + first) / CELL * CELL..(from + last + 1).next_multiple_of(CELL).min(end);
            // One block for pages that follow each other: a name may be on both.
            changed = match changed.take() {
                Some(before) if range.start <= before.end.next_multiple_of(PAGE) => Some(before.start..range.end),
                before => {
                    before.map_or(Ok(()), |before| keep(written, at, now, before, write))?;
                    Some(range)
                }
            };
        }
        from = end;
    }
    changed.map_or(Ok(()), |changed| keep(written, at, now, changed, write))
}

/// Writes a part of what is there now, and keeps it in mind.
fn keep(
    written: &mut BTreeMap<usize, Box<Bytes>>,
    at: usize,
    now: &[u8],
    part: std::ops::Range<usize>,
    write: &mut WriteAt<'_>,
) -> io::Result<()> {
    write(part.start as u64, &now[part.start - at..part.end - at])?;
    let mut from = part.start;
    while from < part.end {
        let inside = from % PAGE;
        let end = (from - inside + PAGE).min(part.end);
        let page = written.entry(from / PAGE).or_insert_with(|| Box::new(ZEROS));
        page[inside..inside + end - from].copy_from_slice(&now[from - at..end - at]);
        from = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::names::Name;
    use std::os::unix::fs::FileExt;

    fn bytes_of(slot: u64, text: &str) -> Vec<u8> {
        let name = Name { kind: kind::SLOT, ticks: 1, a: slot, b: 3, c: 4, s: text.as_bytes(), t: b"t" };
        let mut cells = vec![0u64; name.cells() * CELL / 8];
        // SAFETY: the cells were made for this name.
        unsafe { name.write(cells.as_mut_ptr().cast()) };
        cells.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    #[test]
    fn only_changes_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(256 * 1024).unwrap();
        let mut names = Names::open(&RunPath::open(folder.path()).unwrap().join("names")).unwrap();
        let mut copy = vec![0; 256 * 1024];
        let mut blocks = 0;
        let (slow, next) = (bytes_of(3, &"slow".repeat(40)), bytes_of(7, "next"));
        // Its length without its text; then a name after it; then the text.
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
        assert_eq!(copy, std::fs::read(&path).unwrap());
        assert_eq!(blocks, 4);
        assert_eq!([3, 7, 4].map(|slot| names.has(slot)), [true, true, false]);
    }
}
